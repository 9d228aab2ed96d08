"""``unhub guard``: the verdict on a correction that exists, from queries of today; made for cron."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.failures import OK, REFUSED, WEAKER

if TYPE_CHECKING:
    from unhub.api.correction import Correction
    from unhub.api.verdict import Decision, Verdict

CODES: Mapping[Decision, int] = {"apply": OK, "apply weaker": WEAKER, "refuse": REFUSED}
"""exit codes"""
EVIDENCE = ("recent", "judged", "judged_queries", "targets")


def command(
    context: typer.Context,
    correction: options.CorrectionFile,
    recent: options.Recent = None,
    judged: options.Judged = None,
    judged_queries: options.JudgedQueries = None,
    targets: options.Targets = None,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[
        str | None, output.option("Save the correction under the new verdict (.unhub); CORRECTION itself is allowed.")
    ] = None,
) -> None:
    """Judge a correction again by queries that are asked now; nothing is fitted.

    The gallery is read from where it was at the fit; pass --targets if it has moved, or if it is in a vector store. Of
    a correction that was fitted on scores, --recent is a matrix, recent queries x gallery. Without -o nothing is saved.

    \b
    Exit codes, for cron:
      0  apply          3  apply weaker          4  refuse          2  bad input

    \b
    Examples:
      unhub guard gallery.unhub --recent recent.npy
      unhub guard gallery.unhub --recent recent.npy --judged judged.tsv -o gallery.unhub
      unhub guard photos.unhub --recent recent.npy --targets faiss://photos.faiss --json
    """
    import unhub
    from unhub.deploy.journal import Journal

    evidence = options.given(context, EVIDENCE)
    replaced = output.check(out, (".unhub",), evidence.values())
    in_place = out is not None and output.same_file(Path(correction).expanduser(), Path(out).expanduser())
    with Journal(correction).alone() if in_place else nullcontext():  # locked between reading and replacing it
        with working("judging"):
            before = unhub.load(correction, memory=memory)
            after = before.with_verdict(unhub.guard(before, **evidence))
        if out is not None:
            after.save(out)
    if json:
        console.data(
            {
                "correction": correction, "verdict": after.verdict.to_dict(), "strength": after.strength,
                "previous": {"decision": before.verdict.decision, "strength": before.strength},
                "output": out, "replaced": replaced,
            }
        )  # fmt: skip
    else:
        show_verdict(after.verdict)
        if after.strength != before.strength:
            console.say(f"Until now it was: {before.verdict.headline}.")
        if out is not None:
            output.tell(out, f"the same bias, {_served(after.verdict)}", replaced=replaced)
        steps = _next(before, after, correction, out)
        if steps:
            console.say("next:")
        for step in steps:
            console.say(f"  {step}")
    raise typer.Exit(CODES[after.verdict.decision])


def show_verdict(verdict: Verdict) -> None:
    """The decision, then the evidence, what was not checked and what to do, one line each."""
    decision, *others = verdict.sentences
    console.say(decision, style="bold" if verdict.served else "bold red")
    for each in others:
        console.say(each)


def _served(verdict: Verdict) -> str:
    return f"served at strength {verdict.strength:.2g}" if verdict.served else "not served"


def _next(before: Correction, after: Correction, file: str, out: str | None) -> list[str]:
    """What to do about a verdict that has changed, quoted for the shell."""
    if after.strength == before.strength:
        return []
    if out is None:
        return [f"run the same with -o {shlex.quote(file)} to save this verdict; nothing was saved"]
    stores = dict.fromkeys(each.origin for each in after.exports if each.state == "serving")
    verb = "export" if after.verdict.served else "rollback"
    return [
        f"unhub {verb} {shlex.quote(out)} --to {shlex.quote(store)}   (it serves the earlier strength)"
        for store in stores
    ]
