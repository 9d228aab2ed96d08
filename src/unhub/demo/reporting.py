"""The report of a demonstration, with the verdict that it came to itself."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from unhub.analysis.model import Verdict
from unhub.analysis.report_data import report_data
from unhub.analysis.session import Session
from unhub.demo.choice import Choice
from unhub.demo.demo_data import DemoData
from unhub.demo.outputs import options
from unhub.foundation.atomic import replace_file
from unhub.foundation.optional import installed
from unhub.methods import title_of
from unhub.report.html import html_report

NEEDS = ("jinja2", "matplotlib", "PIL")
NOUNS = {"emoji": "emoji", "clipart": "drawings"}
FILE = "report.html"
SHOWN = ("none", "is", "dis", "dualis", "dualdis", "sn", "dbsn", "nnn", "csls")
"""methods of its table; the terminal lists all"""


def can_report() -> bool:
    """Whether the packages of the report are installed."""
    return all(installed(each) for each in NEEDS)


def write_report(
    data: DemoData, output: Path, choices: Mapping[str, Choice], chosen: str, why: str, language: str
) -> Path:
    """Writes the report into the folder that has the correction and all that goes beside it."""
    path = output / f"{data.name}.unhub"
    session = Session.open(path, **options(output))
    words = ["unhub", "demo", data.name, *(["--language", language] if data.name == "emoji" else []), "-o", str(output)]
    result = report_data(
        session,
        judgement=judgement(chosen, why),
        methods=[each.method for name, each in choices.items() if name in SHOWN],
        title=data.title,
        about=f"Each method has the temperature that was best on {len(data.dev.queries):,} other queries.",
        noun=NOUNS.get(data.name),
        notes=data.notes,
        command=shlex.join(words),
    )
    text = html_report(result)
    with replace_file(output / FILE) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return output / FILE


def judgement(chosen: str, why: str) -> Verdict:
    """What the demonstration found on queries of its own, before it looked at the test.

    >>> judgement("sn", "best of all").sentence
    'SN is the best of all.'
    >>> judgement("none", "that may be chance").kind
    'do not use'
    """
    if chosen == "none":
        return Verdict("do not use", f"{why[:1].upper()}{why[1:]}.")
    return Verdict("use", f"{title_of(chosen)} is the {why}.")
