"""``unhub monitor``: whether a correction still suits the queries that are asked now; made for cron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.cli.failures import OK, REFUSED, WEAKER
from unhub.cli.options import file, flag, value
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.api.monitor_history import Status
    from unhub.api.monitor_result import MonitorResult

CODES: Mapping[Status, int] = {"fine": OK, "look again": WEAKER, "refit": REFUSED}
"""exit codes"""
INPUTS = ("recent", "targets", "judged", "judged_queries", "date", "memory")


def command(
    context: typer.Context,
    correction: options.CorrectionFile,
    recent: options.Recent = None,
    targets: options.Targets = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    history: Annotated[
        str | None, file("Earlier runs, to compare with and to add to; CORRECTION.history.jsonl by default.")
    ] = None,
    no_history: Annotated[bool, flag("--no-history", "Compare with the fit alone, and write nothing.")] = False,
    k: Annotated[int, value("N", "How many of the best targets of each query count.", "--k")] = 10,
    date: Annotated[str | None, value("DATE", "When they were asked, such as 2026-11-18; now by default.")] = None,
    memory: options.Memory = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Look whether a correction still suits the queries that are asked now; says when to fit again, and why.

    Each run adds a line to the history. A figure counts as changed only if it differs from the first run of this
    correction by more than two standard errors.

    The gallery is read from where it was at the fit; pass --targets if it has moved, or if it is in a vector store. It
    may have new, gone and changed items.

    \b
    Exit codes, for cron:
      0  fine          3  look again          4  fit again          2  bad input

    \b
    Examples:
      unhub monitor gallery.unhub --recent recent.npy
      unhub monitor gallery.unhub --recent recent.npy --history shop.jsonl --json
      unhub monitor photos.unhub --recent recent.npy --targets faiss://photos.faiss --no-history
    """
    import unhub
    from unhub.api.monitor_history import history_beside

    if recent is None:
        raise InputError("recent", "is missing", "give queries that are asked now")
    if history is not None and no_history:
        raise InputError("--history and --no-history came together; leave one of them out.")
    kept = None if no_history else history or str(history_beside(correction))
    with working("monitoring"):
        result = unhub.monitor(correction, history=kept, k=k, **options.given(context, INPUTS))
    if json:
        console.data({"correction_file": correction, "history": kept, **result.to_dict()})
    else:
        _show(result)
        if kept is not None:
            console.say(f"run {len(result.history):,} of this correction in {console.printable(kept)}")
    raise typer.Exit(CODES[result.status])


def _show(result: MonitorResult) -> None:
    """The sentence, and each figure now and in the baseline."""
    console.say(result.sentence, style=None if result.status == "fine" else "bold red")
    before = "baseline" if result.baseline is None else result.baseline.date[:10]
    console.table(("", "now", before), result.rows())
    if result.run.new or result.run.gone or result.run.changed:
        console.say(
            f"gallery since the fit: {result.run.new:,} new, {result.run.gone:,} gone, {result.run.changed:,} changed"
        )
