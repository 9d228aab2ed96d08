"""The report as one HTML file that needs nothing from outside."""

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
from unhub.reports import charts, formats
from unhub.reports.figures.items import thumbnail
from unhub.reports.palette import stylesheet

LIMIT = 5_000_000
"""bytes of a report, at most"""
THUMBNAIL = 96
"""pixels of a picture, at most"""
TOO_LARGE = "Pictures are left out: with them the report would exceed 5 MB."
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""characters that a page must not hold: controls, changes of text direction, and surrogates, which stand for bytes
of a file name that are not UTF-8"""


def html_report(report: ReportData) -> str:
    """The text of the report; pictures are left out where it would be too large with them."""
    drawings = _drawings(report)
    text = _render(report, drawings, *thumbnails(report.pictures))
    return text if len(text.encode("utf-8")) <= LIMIT else _render(report, drawings, {}, [TOO_LARGE])


def _escaped(text: str) -> str:
    r"""The page with unsafe characters as JSON escapes.

    >>> _escaped("a\u202eb\udcff")
    'a\\u202eb\\udcff'
    """
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _render(report: ReportData, drawings: dict[str, list[str]], pictures: dict[str, str], notes: list[str]) -> str:
    safe = require("markupsafe", extra="report").Markup
    template = _templates().get_template("report.html.j2")
    text = template.render(
        report=report,
        notes=[*report.notes, *notes],
        style=safe(stylesheet("tokens.css", "guard.css", "report.css")),
        data=safe(embedded(report)),
        pictures=pictures,
        verdict=formats.VERDICTS[report.verdict.kind],
        chosen=next(line for line in report.table.lines if line.label == report.method),
        transductive=any(line.transductive for line in report.table.lines),
        drawn={key: [safe(each) for each in value] for key, value in drawings.items()},
    )
    return _escaped(text)


def embedded(report: ReportData) -> str:
    """The data as JSON that no browser takes for markup; the cells of the heat map are in its picture."""
    plain = report.to_dict()
    plain["heat"] = {name: plain["heat"][name] for name in ("rows", "columns", "low", "high")}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _drawings(report: ReportData) -> dict[str, list[str]]:
    maps = [charts.heat(report.heat, charts.NONE, after=False)]
    if report.heat.after is not None:
        maps.append(charts.heat(report.heat, report.name, after=True))
    return {
        "occurrences": [charts.occurrence(each, report.name) for each in report.occurrences],
        "lorenz": [charts.lorenz(report.lorenz, report.name)],
        "heat": maps,
        "rounds": [charts.convergence(report.convergence)] if report.convergence else [],
        "monitor": charts.monitor_charts(report.history) if report.history else [],
        "sweeps": [charts.sweep(each, at) for at, each in enumerate(report.sweeps)],
    }


@cache
def _templates() -> Any:
    jinja2 = require("jinja2", extra="report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("unhub.reports"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    for name in ("number", "signed", "percent", "place", "called", "one", "setting"):
        environment.filters[name] = getattr(formats, name)
    for name in ("blocks", "bars", "sums", "curve", "errors", "places", "hashes"):
        environment.globals[name] = getattr(formats, name)
    return environment


def thumbnails(pictures: Mapping[str, Path]) -> tuple[dict[str, str], list[str]]:
    """A data URL of each picture by its key, and a sentence for each file that cannot be read."""
    urls: dict[Path, str] = {}
    notes: dict[Path, str] = {}
    for path in dict.fromkeys(pictures.values()):
        try:
            urls[path] = _data_url(path)
        except InputError:
            notes[path] = f"The picture {path.name} cannot be read and is left out."
    return {key: urls[path] for key, path in pictures.items() if path in urls}, list(dict.fromkeys(notes.values()))


def _data_url(path: Path) -> str:
    images, features = require("PIL.Image", extra="report"), require("PIL.features", extra="report")
    kind = "webp" if features.check("webp") else "jpeg"
    sink = io.BytesIO()
    images.fromarray(thumbnail(path, THUMBNAIL)).save(sink, kind, quality=80)
    return f"data:image/{kind};base64,{base64.b64encode(sink.getvalue()).decode('ascii')}"
