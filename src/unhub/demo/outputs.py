"""What a demonstration writes: the correction, the vectors, texts, pictures, and the report."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unhub.analysis.report_data import report_data
from unhub.analysis.session import Session
from unhub.api.correction import Correction
from unhub.api.evaluation import Evaluation
from unhub.demo.clipart import Thumbnails
from unhub.demo.demo_data import DemoData
from unhub.demo.evaluation import as_measured
from unhub.foundation.atomic import replace_file
from unhub.foundation.optional import installed
from unhub.reports.html import html_report

MEDIA = "media"
TARGET_IDS, NEW_IDS = "targets.ids.txt", "new_targets.ids.txt"
PATH = re.compile(r" \([^()]*/[^()]*\)$")
TEXTS = {"captions": "queries.txt", "bank_captions": "query_bank.txt", "target_captions": "targets.txt"}
"""files of texts, by the options of ``unhub report`` and ``unhub serve`` that take them"""
NEEDS = ("jinja2", "matplotlib", "PIL")
NOUNS = {"emoji": "emoji", "clipart": "drawings"}
REPORT = "report.html"
SHOWN = ("none", "is", "dis", "dualis", "dualdis", "sn", "dbsn", "nnn", "csls")
"""methods in the table of the report; the terminal lists all"""


def ids(labels: Sequence[str], start: int = 0) -> list[str]:
    """A number and the label; the number alone where labels have slashes, because files are named by it.

    >>> ids(["🍕 pizza"]), ids(["a/b", "c"], start=7)
    (['0000 🍕 pizza'], ['0007', '0008'])
    """
    plain = any("/" in label for label in labels)
    return [f"{start + row:04d}" if plain else f"{start + row:04d} {label}" for row, label in enumerate(labels)]


def title_of(label: str) -> str:
    """The label without the path behind it, if it has one.

    >>> title_of("contour bat (animals/birds/contour_bat)"), title_of("🍕 pizza")
    ('contour bat', '🍕 pizza')
    """
    return PATH.sub("", label)


def save_outputs(data: DemoData, correction: Correction, summary: dict[str, Any], output: Path) -> None:
    """Writes the files, each complete or not at all, and the correction last.

    An older correction and its ids are deleted first, so that an interrupted run never mixes with an earlier one.
    """
    for name in (f"{data.name}.unhub", TARGET_IDS, NEW_IDS):
        (output / name).unlink(missing_ok=True)
    past = data.past
    parts = {
        "targets": data.test.targets, "queries": data.test.queries, "relevant": data.test.relevant,
        "query_bank": past.queries, "target_bank": past.targets, "recent": data.recent,
        "new_targets": data.unseen.targets,
    }  # fmt: skip
    for name, array in parts.items():
        with replace_file(output / f"{name}.npy") as temporary:
            np.save(temporary, array)
    _lines(output / TARGET_IDS, ids(data.test.target_labels))
    _lines(output / NEW_IDS, ids(data.unseen.target_labels, len(data.test.targets)))
    _lines(output / TEXTS["captions"], data.test.query_texts)
    _lines(output / TEXTS["bank_captions"], past.query_texts)
    _lines(output / TEXTS["target_captions"], [title_of(label) for label in data.test.target_labels])
    with replace_file(output / "results.json") as temporary:
        temporary.write_text(json.dumps(summary, indent=2, ensure_ascii=False), encoding="utf-8")
    if data.name == "clipart":
        _pictures(output / MEDIA, ids(data.test.target_labels))
    correction.save(output / f"{data.name}.unhub")


def options(output: Path) -> dict[str, str]:
    """The options of ``unhub report`` and ``unhub serve`` for this folder, by name."""
    paths = {name: str(output / f"{name}.npy") for name in ("targets", "queries", "relevant", "target_bank")}
    paths |= {name: str(output / file) for name, file in TEXTS.items()}
    return paths | ({MEDIA: str(output / MEDIA)} if (output / MEDIA).is_dir() else {})


def page_command(data: DemoData, output: Path) -> str:
    """The command that opens the page on this folder, without the program's name."""
    flags = [word for name, value in options(output).items() for word in (f"--{name.replace('_', '-')}", value)]
    return shlex.join(["serve", str(output / f"{data.name}.unhub"), *flags])


def can_report() -> bool:
    """Whether the packages of the report are installed."""
    return all(installed(each) for each in NEEDS)


def write_report(data: DemoData, output: Path, result: Evaluation, language: str) -> Path:
    """Writes the report of the files that ``save_outputs`` wrote; result: every method on the test part."""
    session = Session.open(output / f"{data.name}.unhub", **options(output))
    words = ["unhub", "demo", data.name, *(["--language", language] if data.name == "emoji" else []), "-o", str(output)]
    report = report_data(
        session,
        methods=[as_measured(result[name]) for name in SHOWN],
        title=data.title,
        about=f"The strength of each method is what {len(data.recent):,} recent queries support.",
        noun=NOUNS.get(data.name),
        notes=data.notes,
        command=shlex.join(words),
    )
    with replace_file(output / REPORT) as temporary:
        temporary.write_text(html_report(report), encoding="utf-8")
    return output / REPORT


def _lines(path: Path, texts: Sequence[str]) -> None:
    """One line for each text, whatever it holds."""
    with replace_file(path) as temporary:
        temporary.write_text("".join(f"{' '.join(text.split()) or '-'}\n" for text in texts), encoding="utf-8")


def _pictures(folder: Path, names: Sequence[str]) -> None:
    folder.mkdir(exist_ok=True)
    drawings = Thumbnails("test")
    for row, name in enumerate(names):
        with replace_file(folder / f"{name}.webp") as temporary:
            temporary.write_bytes(drawings.thumbnail(row))
