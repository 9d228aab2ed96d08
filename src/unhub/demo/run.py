"""The demonstration: from raw search to a saved correction, on real data, with the truth at every step."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from unhub.api.correction import Correction
from unhub.api.diagnose import diagnose
from unhub.demo import clipart, emoji, show
from unhub.demo.demo_data import DemoData
from unhub.demo.evaluation import advice, evaluate_on_test, gains, guarded_fit, transductive, verdicts
from unhub.demo.outputs import can_report, ids, page_command, save_outputs, write_report
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.methods import title_of

SETS: Mapping[str, Callable[[str], DemoData]] = {
    "emoji": lambda language: emoji.load(language),
    "clipart": lambda language: clipart.load(),
}
PAGE_FOLDER = Path("demo-output/emoji-de")
"""where the demonstration writes by default, and what ``make page`` serves"""
EXAMPLES = 3
"""queries shown that got better, and as many that got worse"""


def run(
    name: str = "emoji",
    *,
    language: str = "de",
    output: Path | None = None,
    console: Console,
    interactive: bool = False,
    words: Sequence[str] = (),
) -> dict[str, Any]:
    """Runs the whole demonstration and returns its numbers as plain data.

    name: "emoji" or "clipart".
    language: of the emoji names, such as "de".
    output: a folder for the correction, the vectors, the numbers and a report; None writes nothing.
    console: where it prints.
    interactive: ask for texts to search for.
    words: texts to search for besides the test queries.
    """
    if name not in SETS:
        raise InputError(f"there is no demo {name!r}; there are {', '.join(SETS)}.")
    with console.status("reading and encoding"):
        data = SETS[name](language)
    texts = [each for each in words if each.strip()]
    if texts and data.encode is None:
        raise InputError("no text encoder is installed for this demo; install it with: pip install 'unhub[clipart]'")
    if output is not None:
        _make_folder(output)
    show.introduction(console, data)
    upper = transductive(data)

    show.heading(console, 1, "How fair is search with no correction?")
    diagnosis = diagnose(queries=data.test.queries, targets=data.test.targets)
    show.hubs(console, data.test, diagnosis, upper["none"].top)

    show.heading(console, 2, "What to use: the guard judges by queries that nothing was fitted on")
    with console.status("fitting, and judging by held-out and recent queries"):
        correction = guarded_fit(data, ids(data.test.target_labels))
    verdict, title = correction.verdict, title_of(correction.method.name)
    show.say(console, f"[bold]{title}[/bold]: {escape(verdict.sentence)}")
    show.say(console, f"[dim]{show.NATS}[/dim]")

    show.heading(console, 3, "Every method on the test queries, at the strength that the guard gives it")
    with console.status("fitting every method, judging on test"):
        result = evaluate_on_test(data)
    show.results(console, result, upper)
    gain = gains(result)[correction.method.name]
    show.say(console, f"[bold]{title}[/bold]: {advice(verdict, gain)}")
    if not verdict.served:
        show.say(console, "The steps below use full strength all the same, so that you can see what it would do.")
    shown = correction if verdict.served else correction.at(1.0)

    show.heading(console, 4, "What changes: as many losses as wins")
    _examples(console, data, shown)
    _ask(console, data, shown, texts, interactive)

    show.heading(console, 5, "New targets, without a refit")
    extension = _extend(console, data, shown)

    summary = {
        "demo": data.name,
        "title": data.title,
        "notes": list(data.notes),
        "diagnosis": diagnosis.to_dict(),
        "test": result.to_dict(),
        "transductive": upper.to_dict(),
        "verdict": {
            "method": correction.method.name,
            **verdict.to_dict(),
            "test": {"R@1": gain.value, "low": gain.low, "high": gain.high},
        },
        "strengths": {label: each.strength for label, each in verdicts(result).items()},
        "extension": extension,
    }
    if output is not None:
        show.heading(console, 6, "What was saved, and what to try next")
        save_outputs(data, correction, summary, output)
        here = escape(str(output))
        files = f"the correction ({data.name}.unhub), its vectors and results.json"
        show.say(console, f"{here}/ holds {files}.")
        if can_report():
            with console.status("writing the report"):
                report = write_report(data, output, result, language)
            show.say(console, f"The report has all numbers and pictures; open {escape(str(report))} in a browser.")
        else:
            show.say(console, escape("For a report with pictures: pip install 'unhub[report]'"))
        _next_steps(console, data, output)
    return summary


def _examples(console: Console, data: DemoData, correction: Correction) -> None:
    part = data.test
    before = _ranks(part.relevant, correction.search(part.queries, k=50, corrected=False).rows)
    after = _ranks(part.relevant, correction.search(part.queries, k=50).rows)
    better, worse = np.flatnonzero((before > 1) & (after == 1)), np.flatnonzero((before == 1) & (after > 1))
    show.say(console, f"First place won for {better.size} queries, lost for {worse.size}.")
    rows = np.concatenate([each[:: max(1, each.size // EXAMPLES)][:EXAMPLES] for each in (better, worse)])
    if rows.size:
        _search(console, data, correction, part.queries[rows], [part.query_texts[i] for i in rows], part.relevant[rows])


def _ask(console: Console, data: DemoData, correction: Correction, texts: Sequence[str], interactive: bool) -> None:
    if data.encode is None:
        return
    if texts or interactive:
        show.say(console, f"Your own words, among these {len(data.test.targets):,} targets:")
    if texts:
        _search(console, data, correction, data.encode(list(texts)), texts)
    while interactive:
        text = console.input("  What are you looking for? (empty line to continue) ").strip()
        if not text:
            return
        _search(console, data, correction, data.encode([text]), [text])


def _search(
    console: Console,
    data: DemoData,
    correction: Correction,
    queries: FloatArray,
    texts: Sequence[str],
    right: IntArray | None = None,
) -> None:
    raw = correction.search(queries, k=3, corrected=False)
    fixed = correction.search(queries, k=3)
    answers = [None] * len(texts) if right is None else list(right)
    show.before_after(console, texts, data.test.target_labels, raw, fixed, answers)


def _extend(console: Console, data: DemoData, correction: Correction) -> dict[str, Any]:
    """The unseen targets get their bias without a refit, and are found among the old ones."""
    new = data.unseen
    grown = correction.extended(new.targets, ids=ids(new.target_labels, start=len(data.test.targets)))
    gallery = np.concatenate((data.test.targets, new.targets))
    hits = grown.search(new.queries, k=10, targets=gallery)
    first = int((_ranks(new.relevant + len(data.test.targets), hits.rows) == 1).sum())
    gap = float(np.abs(correction.extend(data.test.targets) - correction.bias).max())
    show.say(
        console,
        f"{len(new.targets)} new targets got their bias from the saved potentials; {first} of {len(new.queries)} are "
        f"then found first by name, among {len(gallery):,}.",
    )
    show.say(console, f"The same formula reproduces the bias of the fitted targets to within {gap:.0e}.")
    return {"new": len(new.targets), "queries": len(new.queries), "found_first": first, "largest_gap": gap}


def _ranks(relevant: IntArray, rows: IntArray) -> IntArray:
    """The rank of the right row among the hits, one past the end if it is missing."""
    match = rows == relevant[:, None]
    ranks: IntArray = np.where(match.any(axis=1), match.argmax(axis=1) + 1, rows.shape[1] + 1)
    return ranks


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
        writable = os.access(output, os.W_OK)
    except OSError as error:
        raise InputError(f"cannot make the folder {output}: {(error.strerror or str(error)).lower()}.") from error
    if not writable:
        raise InputError("output", f"is {output}, where nothing can be written", "choose another folder")


def page_hint(output: Path) -> str:
    """How to get the page: in a clone of the repository ``make page`` serves the demo's default folder."""
    in_clone = output == PAGE_FOLDER and Path("Makefile").is_file()
    return "make page runs this" if in_clone else "pip install 'unhub[serve]'"


def _next_steps(console: Console, data: DemoData, output: Path) -> None:
    """Commands to try on the files that were written."""
    unhub = "unhub" if shutil.which("unhub") else os.path.relpath(Path(sys.executable).with_name("unhub"))
    show.say(console, escape(f"To try other settings, open the page ({page_hint(output)}):"))
    console.print(f"    {unhub} {escape(page_command(data, output))}", soft_wrap=True)
    show.say(console, "On your own vectors, run the same commands:")
    here = escape(str(output))
    bank = f"--targets {here}/targets.npy --query-bank {here}/query_bank.npy"
    recent = f"--recent {here}/recent.npy"
    test = f"--queries {here}/queries.npy --relevant {here}/relevant.npy"
    for command in (
        f"check {bank}",
        f"fit {bank} --target-bank {here}/target_bank.npy {recent} -o mine.unhub",
        f"guard mine.unhub {recent}",
        f"evaluate {test} {bank} {recent} --methods none,is,sn",
    ):
        console.print(f"    {unhub} {command}", soft_wrap=True)
