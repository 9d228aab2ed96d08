"""The demonstration: from raw search to a correction one can keep, on real data, with the truth at every step."""

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
from unhub.api.evaluation import Evaluation
from unhub.api.fit import fit
from unhub.demo import clipart, emoji, show
from unhub.demo.choice import Choice, choose, join_banks, quiet_evaluate, temperatures, variants, verdict
from unhub.demo.demo_data import DemoData
from unhub.demo.outputs import ids, page_command, save_outputs
from unhub.demo.reporting import can_report, write_report
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.methods import method

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
    """Runs the whole demonstration and gives back its numbers as plain data.

    output: a folder for the correction, the vectors and the numbers; None writes nothing. words: texts to search for
    besides the test queries; interactive asks for more at the end.
    """
    if name not in SETS:
        raise InputError(f"there is no demo {name!r}; there are {', '.join(SETS)}.")
    with console.status("reading and encoding"):
        data = SETS[name](language)
    asked = [each for each in words if each.strip()]
    if asked and data.encode is None:
        raise InputError("no text encoder is installed for this demo; install it with: pip install 'unhub[clipart]'")
    if output is not None:
        _make_folder(output)
    show.introduction(console, data)
    query_bank, target_bank = join_banks(data.bank, data.dev)

    show.heading(console, 1, "How fair is the search as it is?")
    diagnosis = diagnose(queries=data.test.queries, targets=data.test.targets)
    raw = quiet_evaluate(data.test, None, None, [method("none")])
    show.hubs(console, data.test, diagnosis, raw["none"].top)

    show.heading(
        console, 2, "Every method, its temperature chosen on dev, fitted on bank and dev together, judged on test"
    )
    with console.status("trying temperatures on the dev part"):
        choices = choose(data)
    with console.status("fitting on bank and dev, judging on test"):
        result = quiet_evaluate(data.test, query_bank, target_bank, [each.method for each in choices.values()])
        upper = _transductive(data)
    show.results(console, result, choices, upper)

    show.heading(console, 3, "What to use")
    chosen, why = verdict(choices)
    show.say(console, f"[bold]{chosen}[/bold]: {why}.")
    correction = fit(
        choices[chosen if chosen != "none" else "sn"].method,
        targets=data.test.targets,
        query_bank=query_bank,
        target_bank=target_bank,
        target_ids=ids(data.test.target_labels),
    )
    if chosen == "none":
        show.say(console, "The steps below still show sn, so that you can see what it would do.")

    show.heading(console, 4, "Before and after: as many losses as wins")
    _examples(console, data, correction)
    _ask(console, data, correction, asked, interactive)

    show.heading(console, 5, "Targets that were not there when the correction was fitted")
    extension = _extend(console, data, correction)

    summary = _summary(data, diagnosis.to_dict(), result, upper, choices, chosen, why, extension)
    if output is not None:
        show.heading(console, 6, "Kept for you, and what to try next")
        folder = output  # not None, also for a type checker in the line below
        _write(
            console, data, correction, summary, output,
            lambda: write_report(data, folder, choices, chosen, why, language),
        )  # fmt: skip
    return summary


def _transductive(data: DemoData) -> Evaluation:
    """SN with the test queries as the bank, at the temperature that was best when dev was treated the same way."""
    tried = variants("sn", temperatures(data))
    on_dev = quiet_evaluate(data.dev, None, None, tried)
    best = max(zip(on_dev, tried, strict=True), key=lambda pair: on_dev[pair[0]]["mrr"])[1]
    return quiet_evaluate(data.test, None, None, [best])


def _examples(console: Console, data: DemoData, correction: Correction) -> None:
    part = data.test
    before = _ranks(part.relevant, correction.search(part.queries, k=50, corrected=False).rows)
    after = _ranks(part.relevant, correction.search(part.queries, k=50).rows)
    better = np.flatnonzero((before > 1) & (after == 1))
    worse = np.flatnonzero((before == 1) & (after > 1))
    show.say(console, f"First place won for {better.size} queries, lost for {worse.size}.")
    spread_out = [part_of[:: max(1, part_of.size // EXAMPLES)][:EXAMPLES] for part_of in (better, worse)]
    rows = np.concatenate(spread_out)
    if rows.size:
        _search(console, data, correction, part.queries[rows], [part.query_texts[i] for i in rows], part.relevant[rows])


def _ask(console: Console, data: DemoData, correction: Correction, words: Sequence[str], interactive: bool) -> None:
    if data.encode is None:
        return
    if words or interactive:
        show.say(console, f"Your own words, among these {len(data.test.targets):,} targets:")
    if words:
        _search(console, data, correction, data.encode(list(words)), words, [None] * len(words))
    while interactive:
        asked = console.input("  What are you looking for? (empty line to go on) ").strip()
        if not asked:
            return
        _search(console, data, correction, data.encode([asked]), [asked], [None])


def _search(
    console: Console,
    data: DemoData,
    correction: Correction,
    queries: FloatArray,
    texts: Sequence[str],
    right: Sequence[int | None] | IntArray,
) -> None:
    raw = correction.search(queries, k=3, corrected=False)
    fixed = correction.search(queries, k=3)
    show.before_after(console, texts, data.test.target_labels, raw, fixed, list(right))


def _extend(console: Console, data: DemoData, correction: Correction) -> dict[str, Any]:
    """The unseen targets get their bias without a refit, and are found among the old ones."""
    new = data.unseen
    grown = correction.extended(new.targets, ids=ids(new.target_labels, start=len(data.test.targets)))
    gallery = np.concatenate((data.test.targets, new.targets))
    hits = grown.search(new.queries, k=10, targets=gallery)
    ranks = _ranks(new.relevant + len(data.test.targets), hits.rows)
    found = int((ranks == 1).sum())
    fitted = float(np.abs(correction.extend(data.test.targets) - correction.bias).max())
    show.say(
        console,
        f"{len(new.targets)} unseen targets got their bias from the saved potentials, without a refit; "
        f"{found} of {len(new.queries)} are then found first by name, among {len(gallery):,}.",
    )
    show.say(console, f"The same formula on the fitted targets gives their bias back to within {fitted:.0e}.")
    return {"new": len(new.targets), "queries": len(new.queries), "found_first": found, "largest_gap": fitted}


def _ranks(relevant: IntArray, rows: IntArray) -> IntArray:
    """The place of the right row among the hits, one past the end when it is not there."""
    match = rows == relevant[:, None]
    ranks: IntArray = np.where(match.any(axis=1), match.argmax(axis=1) + 1, rows.shape[1] + 1)
    return ranks


def _summary(
    data: DemoData,
    diagnosis: dict[str, Any],
    result: Evaluation,
    upper: Evaluation,
    choices: Mapping[str, Choice],
    chosen: str,
    why: str,
    extension: dict[str, Any],
) -> dict[str, Any]:
    return {
        "demo": data.name,
        "title": data.title,
        "notes": list(data.notes),
        "diagnosis": diagnosis,
        "dev": {
            name: {"R@1": choice.dev["R@1"], "mrr": choice.dev["mrr"], "tau": choice.tau}
            for name, choice in choices.items()
        },
        "test": result.to_dict(),
        "transductive": upper.to_dict(),
        "verdict": {"method": chosen, "why": why},
        "extension": extension,
    }


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


def _command() -> str:
    """How to call unhub from here: by name, or by the path of the environment it runs in."""
    return "unhub" if shutil.which("unhub") else os.path.relpath(Path(sys.executable).with_name("unhub"))


def _write(
    console: Console,
    data: DemoData,
    correction: Correction,
    summary: dict[str, Any],
    output: Path,
    report: Callable[[], Path],
) -> None:
    """The correction, the vectors and the numbers, as files that the commands below can be tried on, and a report."""
    save_outputs(data, correction, summary, output)
    here = escape(str(output))
    show.say(console, f"{here}/ holds the correction ({data.name}.unhub), the vectors it came from and results.json.")
    if can_report():
        with console.status("writing the report"):
            written = report()
        show.say(
            console, f"The report, with all numbers and pictures, is {escape(str(written))}: open it in a browser."
        )
    else:
        show.say(console, escape("For a report with pictures install its packages: pip install 'unhub[report]'"))
    show.say(console, escape(f"To change the settings yourself, open the page ({page_hint(output)}):"))
    console.print(f"    {_command()} {escape(page_command(data, output))}", soft_wrap=True)
    show.say(console, "On your own vectors, run the same three commands:")
    bank = f"--targets {here}/targets.npy --query-bank {here}/query_bank.npy"
    test = f"--queries {here}/queries.npy --relevant {here}/relevant.npy"
    for command in (
        f"check {bank}",
        f"fit {bank} --target-bank {here}/target_bank.npy -o mine.unhub",
        f"evaluate {test} {bank} --methods none,is,sn --tau auto",
    ):
        console.print(f"    {_command()} {command}", soft_wrap=True)
