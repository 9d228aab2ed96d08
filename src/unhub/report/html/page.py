"""From a story to the text of one HTML file."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from unhub.analysis.model import ReportData
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.report.figures.items import thumbnail
from unhub.report.html import charts, formats
from unhub.report.palette import stylesheet

LIMIT = 5_000_000
"""bytes of a report at the most"""
THUMBNAIL = 96
"""pixels of a picture, at most"""
TOO_LARGE = "Pictures are left out, since the report would be larger than 5 MB with them."
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""characters that no page may hold as they are: controls, those that turn the direction of the text around them, and
halves of characters, which stand for bytes of a file's name that are no UTF-8"""


def html_report(story: ReportData) -> str:
    """The report, without anything from outside; pictures are left out where it would be too large with them."""
    drawn = _drawings(story)
    pictures, notes = thumbnails(story.pictures)
    text = _escaped(_rendered(story, drawn, pictures, notes))
    if len(text.encode("utf-8")) <= LIMIT:
        return text
    return _escaped(_rendered(story, drawn, {}, [TOO_LARGE]))


def _escaped(text: str) -> str:
    r"""The page with an escape for each unsafe character, which JSON reads as the character itself.

    >>> _escaped("a\u202eb\udcff")
    'a\\u202eb\\udcff'
    """
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _rendered(story: ReportData, drawn: dict[str, Any], pictures: dict[str, str], notes: list[str]) -> str:
    safe = require("markupsafe", extra="report").Markup
    rendered: str = (
        _templates()
        .get_template("report.html.j2")
        .render(
            story=story,
            notes=[*story.notes, *notes],
            style=safe(stylesheet("tokens.css", "report.css")),
            data=safe(embedded(story)),
            pictures=pictures,
            verdict=formats.VERDICTS[story.verdict.kind],
            chosen=next(line for line in story.table.lines if line.label == story.method),
            transductive=any(line.transductive for line in story.table.lines),
            drawn={key: [safe(each) for each in value] for key, value in drawn.items()},
        )
    )
    return rendered


def embedded(story: ReportData) -> str:
    """The story as JSON that no browser can take for markup; the cells of the heat map are in its picture."""
    plain = story.to_dict()
    plain["heat"] = {name: plain["heat"][name] for name in ("rows", "columns", "low", "high")}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _drawings(story: ReportData) -> dict[str, list[str]]:
    """Every picture of lines and the heat maps, as SVG."""
    maps = [charts.heat(story.heat, "no correction", after=False)]
    if story.heat.after is not None:
        maps.append(charts.heat(story.heat, story.name, after=True))
    return {
        "occurrences": [charts.occurrence(each, story.name) for each in story.occurrences],
        "lorenz": [charts.lorenz(story.lorenz, story.name)],
        "heat": maps,
        "rounds": [charts.rounds(story.convergence)] if story.convergence else [],
        "sweeps": [charts.sweep(each, at) for at, each in enumerate(story.sweeps)],
    }


@cache
def _templates() -> Any:
    jinja2 = require("jinja2", extra="report")
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("unhub.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": formats.number, "signed": formats.signed, "percent": formats.percent, "place": formats.place,
        "called": formats.called, "one": formats.one, "interval": formats.interval, "setting": formats.setting,
    }  # fmt: skip
    made.globals |= {
        "blocks": formats.blocks, "bars": formats.bars, "sums": formats.sums,
        "curve": formats.curve,
        "errors": formats.errors, "places": formats.places, "hashes": formats.hashes,
    }  # fmt: skip
    return made


def thumbnails(pictures: Mapping[str, Path]) -> tuple[dict[str, str], list[str]]:
    """An address with the data of each picture, by its key; and a sentence for each file that cannot be read."""
    addresses: dict[Path, str] = {}
    thumbs, notes = {}, []
    for key, path in pictures.items():
        try:
            if path not in addresses:
                addresses[path] = _address(path)
            thumbs[key] = addresses[path]
        except InputError:
            notes.append(f"The picture {path.name} cannot be read, and is left out.")
    return thumbs, list(dict.fromkeys(notes))


def _address(path: Path) -> str:
    images, features = require("PIL.Image", extra="report"), require("PIL.features", extra="report")
    kind = "webp" if features.check("webp") else "jpeg"
    sink = io.BytesIO()
    images.fromarray(thumbnail(path, THUMBNAIL)).save(sink, kind, quality=80)
    return f"data:image/{kind};base64,{base64.b64encode(sink.getvalue()).decode('ascii')}"
