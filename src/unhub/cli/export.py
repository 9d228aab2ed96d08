"""``unhub export`` and ``unhub rollback``: a correction in a vector store, and the way back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.cli.options import flag, value
from unhub.foundation.errors import InputError, StoreError

if TYPE_CHECKING:
    from unhub.deploy.export import ExportResult
    from unhub.stores import ExportPlan, Strategy

POOR = 0.8
"""recall of an index below which a note says so"""


def command(
    context: typer.Context,
    correction: options.CorrectionFile,
    to: Annotated[str, value("ADDRESS", "The collection to export to, such as qdrant://localhost/photos.", "--to")],
    dry_run: Annotated[bool, flag("--dry-run", "Show what would be written, and write nothing.")] = False,
    strategy: Annotated[
        str | None,
        value(
            "NAME",
            "augment, constant_norm, expression, column, payload or rerank; the store's best by default.",
            "--strategy",
            "--form",
        ),
    ] = None,
    pad_to: Annotated[
        int | None, value("N", "Pad vectors to a multiple of this; by default 8 for codes and 1 for floats.")
    ] = None,
    scale: Annotated[float | None, value("NUMBER", "Scale the stored bias by this factor.")] = None,
    alias: Annotated[
        str | None,
        value("NAME", "Point this alias at the new collection; NAME_corrected by default, in stores with aliases."),
    ] = None,
    effort: Annotated[
        float | None,
        value("NUMBER", "Search effort relative to uncorrected search; by default as much as keeps the recall."),
    ] = None,
    allow_missing: Annotated[
        bool, flag("--allow-missing", "Give items that are not in the correction a bias of 0.")
    ] = False,
    force: options.Force = False,
    batch: Annotated[int | None, value("N", "Items per batch; 4,096 by default.")] = None,
    json: options.Json = False,
) -> None:
    """Write a correction to a vector store, so that it ranks by score + bias; the old collection keeps serving.

    Every item is compared with the correction and written to a new collection or field. A self-test then compares the
    store's answers with exact corrected search, and only if it passes is the new place put to use. After an
    interruption, run the same command again. unhub rollback undoes it.

    \b
    Examples:
      unhub export photos.unhub --to faiss://photos.faiss --dry-run
      unhub export photos.unhub --to faiss://photos.faiss
    """
    from unhub.deploy.export import export, plan_export

    options.check_url("to", to)
    chosen, planned = _strategy(strategy), options.given(context, ("pad_to", "scale", "alias", "force"))
    if dry_run:
        with working("planning"):
            plan = plan_export(correction, to, strategy=chosen, **planned)
        if json:
            console.data({"correction": correction, "plan": plan.to_dict()})
        else:
            _show_plan(plan)
            console.say("dry run: nothing was written")
        return
    with working("exporting") as progress:
        more = options.given(context, ("effort", "allow_missing", "batch"))
        done = export(correction, to, strategy=chosen, **planned, **more, progress=progress)
    if json:
        console.data({"correction": correction, **done.to_dict()})
    else:
        _show(done, correction)
    if not done.self_test.passed:
        few = done.plan.strategy in ("payload", "rerank")
        other = "fetch more, with fetch=1000 in the address" if few else "try another --strategy"
        raise StoreError(
            f"the self-test failed ({done.self_test}), so {done.record.destination} is not used and "
            f"{done.plan.origin.url} serves as before; remove it with unhub rollback {shlex.quote(correction)} --to "
            f"{shlex.quote(done.plan.origin.url)}, or {other}."
        )


def rollback_command(
    correction: options.CorrectionFile,
    to: Annotated[
        str | None,
        value("ADDRESS", "The store to undo the export in; without it, the correction's exports are listed.", "--to"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Undo the exports of a correction, finished or not; the original collection was never changed.

    Connects only to the store that --to names, and removes only what unhub created and marked there. Running it again
    does nothing.

    \b
    Examples:
      unhub rollback photos.unhub --to faiss://photos.faiss
    """
    from unhub.deploy.rollback import rollback

    with working("rolling back"):
        done = rollback(correction, to=to)
    if json:
        console.data({"correction": correction, "exports": done.to_dict()})
        return
    for each in done.exports:
        what = f"removed {each.destination}" if done.removed(each) is not None else "nothing to remove"
        console.say(f"{each.origin}: {what}")
        if each.alias is not None:
            now = done.aliases.get(each.alias)
            console.say(f"alias {each.alias} {f'points to {now}' if now else 'is gone'}")
    if not done.exports:
        console.say("nothing to roll back")


def _strategy(name: str | None) -> Strategy | None:
    from unhub.stores import Strategy

    if name is None:
        return None
    known = get_args(Strategy)
    if name.replace("-", "_") not in known:
        raise InputError("strategy", f"is {name!r}, which does not exist", f"use one of {', '.join(known)}")
    return cast("Strategy", name.replace("-", "_"))


def _show_plan(plan: ExportPlan) -> None:
    from unhub.stores.export_plan import WORDS

    console.say(f"{plan.strategy}: {WORDS[plan.strategy]}", style="bold")
    shown: list[tuple[str, Any]] = [
        ("store", f"{plan.origin.url} ({plan.origin.index}, {plan.origin.metric})"),
        ("items", f"{plan.items:,} of {plan.origin.dim} numbers"),
        ("writes to", plan.destination or "nothing"),
    ]
    if plan.megabytes:
        width = f", {plan.encoding.width} numbers each" if plan.megabytes > plan.items * 4e-6 else ""
        time = f"{max(1, round(plan.seconds))} s" if plan.seconds < 90 else f"{round(plan.seconds / 60)} min"
        shown += [("how much", f"about {plan.megabytes:,.1f} MB{width}"), ("how long", f"about {time}")]
    if plan.alias is not None:
        shown.append(("alias", plan.alias))
    console.table(("", ""), [list(each) for each in shown], left=[0, 1])
    for note in plan.notes:
        console.say(f"note: {console.in_flags(note)}")


def _show(done: ExportResult, correction: str) -> None:
    _show_plan(done.plan)
    earlier = f" ({done.already_written:,} were there already)" if done.already_written else ""
    if done.record.destination is not None:
        console.say(f"wrote {done.written:,} items to {done.record.destination}{earlier}")
    console.say(f"self-test: {done.self_test}")
    if not done.self_test.passed:
        return
    if not done.self_test.exact and done.self_test.raw_recall < POOR:
        console.say(
            f"note: the store's own index finds only {done.self_test.raw_recall:.0%} of the exact top 10, and so does "
            f"the corrected one; raise its search effort (nprobe, ef), or export again with --effort"
        )
    if done.record.alias is not None:
        console.say(f"alias {done.record.alias} points to {done.record.destination}")
    console.say("next:")
    file, store = shlex.quote(correction), shlex.quote(done.plan.origin.url)
    console.say(f"  unhub search {file} --store {store} --queries QUERIES.npy")
    console.say(f"  unhub rollback {file} --to {store}")
