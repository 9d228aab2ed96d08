"""The report of a demonstration, with the verdict that it came to itself."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unhub.analysis.beside import Beside
from unhub.analysis.correction_subject import CorrectionSubject
from unhub.analysis.model import Verdict
from unhub.analysis.names import shown_name
from unhub.analysis.story import Asked, story
from unhub.api.artefact import load
from unhub.demo.choice import Choice
from unhub.demo.demo_data import DemoData
from unhub.demo.outputs import options
from unhub.foundation.atomic import replace_file
from unhub.foundation.optional import installed
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
    given: dict[str, Any] = options(output)
    subject = CorrectionSubject(load(path), str(path), Beside(**given, relevant_flag=given["relevant"]))
    words = ["unhub", "demo", data.name, *(["--language", language] if data.name == "emoji" else []), "-o", str(output)]
    asked = Asked(
        verdict=judgement(chosen, why),
        methods=[each.method for name, each in choices.items() if name in SHOWN],
        title=data.title,
        subtitle=f"Each method has the temperature that was best on {len(data.dev.queries):,} other queries.",
        noun=NOUNS.get(data.name),
        notes=data.notes,
        command=shlex.join(words),
    )
    text = html_report(story(subject, asked))
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
    return Verdict("use", f"{shown_name(chosen)} is the {why}.")
