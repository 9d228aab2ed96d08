"""``unhub export``: a correction written beside the vectors of a store, tested there, and put to use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from unhub.cli import console, options
from unhub.cli.progress import working
from unhub.foundation.errors import InputError, StoreError

if TYPE_CHECKING:
    from unhub.serving.export import Exported
    from unhub.stores import Form, Plan

SCHEMA_VERSION = 1
POOR = 0.8
"""recall of an index below which it is said that it can do better"""


def command(
    correction: Annotated[str, typer.Argument(metavar="CORRECTION", help="A file that unhub fit wrote.")],
    to: Annotated[
        str, typer.Option("--to", metavar="ADDRESS", help="The collection, such as qdrant://localhost/photos.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written where, and write nothing.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="augment, constant_norm, expression, column, payload or rerank; chosen by the store if not given.",
            show_default=False,
        ),
    ] = None,
    pad_to: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pad vectors to a multiple of this; 8 for codes and 1 for floats if not given.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Write the bias this much larger.", show_default=False)
    ] = None,
    alias: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Point this alias at the new collection; NAME_corrected if not given, where there are aliases.",
            show_default=False,
        ),
    ] = None,
    effort: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Have searches look at this many times as much as raw ones; if not given, at as much as it takes to "
            "miss no more.",
            show_default=False,
        ),
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Give items that the correction does not know a bias of 0.")
    ] = False,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Items read and written at once; 4,096 if not given.", show_default=False),
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a store answer by score + bias, beside what it has; the old collection is only read and goes on serving.

    Every item is compared with the correction, written to a new place, and some probes are asked through the store and
    set beside exact corrected search; only if that holds is the new place put to use. Interrupted or killed, the same
    command goes on. unhub rollback takes it back.

    \b
    Examples:
      unhub export photos.unhub --to faiss://photos.faiss --dry-run
      unhub export photos.unhub --to faiss://photos.faiss
    """
    from unhub.serving.export import export, plan_export
    from unhub.stores.protocol import BLOCK

    chosen = _form(form)
    if dry_run:
        with working("planning"):
            plan = plan_export(correction, to, form=chosen, pad_to=pad_to, scale=scale, alias=alias)
        if json:
            console.data({"schema_version": SCHEMA_VERSION, "correction": correction, "plan": plan.plain()})
        else:
            _show_plan(plan)
            console.say("nothing was written (--dry-run)")
        return
    with working("exporting") as progress:
        done = export(
            correction,
            to,
            form=chosen,
            pad_to=pad_to,
            scale=scale,
            alias=alias,
            effort=effort,
            allow_missing=allow_missing,
            batch=BLOCK if batch is None else batch,
            progress=progress,
        )
    if json:
        console.data({"schema_version": SCHEMA_VERSION, "correction": correction, **done.plain()})
    else:
        _show(done, correction)
    if not done.tested.passed:
        few = done.plan.form in ("payload", "rerank")
        other = "fetch more, with fetch=1000 in the address" if few else "try another --form"
        raise StoreError(
            f"the self-test failed ({done.tested}), so {done.record.place} is not put to use and "
            f"{done.plan.origin.url} serves as before; take it back with unhub rollback {shlex.quote(correction)} --to "
            f"{shlex.quote(done.plan.origin.url)}, or {other}."
        )


def _form(name: str | None) -> Form | None:
    from unhub.stores import Form

    if name is None:
        return None
    known = get_args(Form)
    if name.replace("-", "_") not in known:
        raise InputError(f"there is no form {name!r}; known are {', '.join(known)}.")
    return cast("Form", name.replace("-", "_"))


def _show_plan(plan: Plan) -> None:
    from unhub.stores.plan import WORDS

    console.say(f"{plan.form}: {WORDS[plan.form]}", style="bold")
    shown: list[tuple[str, Any]] = [
        ("store", f"{plan.origin.url} ({plan.origin.index}, {plan.origin.metric})"),
        ("items", f"{plan.items:,} of {plan.origin.dim} numbers"),
        ("writes to", plan.place or "nothing"),
    ]
    if plan.megabytes:
        width = f", {plan.layout.width} numbers each" if plan.megabytes > plan.items * 4e-6 else ""
        shown.append(("how much", f"about {plan.megabytes:,.1f} MB{width}"))
        shown.append(("how long", f"about {_duration(plan.seconds)}"))
    if plan.alias is not None:
        shown.append(("alias", plan.alias))
    console.table(("", ""), [list(each) for each in shown], left=[0, 1])
    for note in plan.notes:
        console.say(f"note: {note}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"


def _show(done: Exported, correction: str) -> None:
    _show_plan(done.plan)
    earlier = f" ({done.found:,} were there from before)" if done.found else ""
    if done.record.place is not None:
        console.say(f"wrote {done.written:,} items to {done.record.place}{earlier}")
    console.say(f"self-test: {done.tested}")
    if not done.tested.passed:
        return
    if not done.tested.exact and done.tested.raw_recall < POOR:
        console.say(
            f"note: the store's own index finds only {done.tested.raw_recall:.0%} of the exact ten best, and the "
            f"corrected one as many; have searches look at more (nprobe, ef), or export again with --effort"
        )
    if done.record.alias is not None:
        console.say(f"alias {done.record.alias} points to {done.record.place}")
    console.say("next:")
    file, store = shlex.quote(correction), shlex.quote(done.plan.origin.url)
    console.say(f"  unhub search {file} --store {store} --queries QUERIES.npy")
    console.say(f"  unhub rollback {file} --to {store}")
