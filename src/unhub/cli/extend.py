"""``unhub extend``: the exact bias of targets added after the fit."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.options import flag, value
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.api.correction import Correction
    from unhub.foundation.types import FloatArray
    from unhub.io import Rows

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".npy", ".unhub")
SHOWN_TARGETS = 10
"""new targets shown on a terminal; a pipe or a file gets all of them"""


def command(
    correction: options.CorrectionFile,
    targets: Annotated[str | None, value("FILE", "Embeddings of the new targets.")] = None,
    target_ids: Annotated[str | None, value("FILE", "Ids of the new targets.", "--target-ids", "--ids")] = None,
    scores: Annotated[
        str | None, value("FILE", "Score matrix, bank x new targets, for a correction fitted on scores.")
    ] = None,
    target_bank_scores: Annotated[
        str | None, value("FILE", "Score matrix, target bank x new targets, for dualis.")
    ] = None,
    from_store: Annotated[bool, flag("--from-store", "Same as --store alone; kept for older scripts.")] = False,
    store: Annotated[
        str | None,
        value("ADDRESS", "Bring the correction up to date with this store, such as qdrant://localhost/photos."),
    ] = None,
    force: options.Force = False,
    memory: options.Memory = None,
    json: options.Json = False,
    out: Annotated[
        str | None, output.option("The biases (.csv, .tsv, .jsonl, .json, .npy), or the extended correction (.unhub).")
    ] = None,
) -> None:
    """Compute the exact bias of new targets, without a refit.

    Without -o the biases are printed and nothing is saved. -o CORRECTION extends the correction in place; if it ends
    with the same targets already, as after an interrupted run, nothing is appended.

    With --store the correction is compared with the store: new and changed items get their exact bias, deleted ones are
    dropped, exports are updated too, and the correction file is replaced (or written to -o).

    \b
    Examples:
      unhub extend gallery.unhub --targets new_targets.npy
      unhub extend gallery.unhub --targets new_targets.npy -o bias.csv
      unhub extend gallery.unhub --targets new_targets.npy -o longer.unhub
      unhub extend photos.unhub --store faiss://photos.faiss
    """
    import unhub

    if from_store or store is not None:
        files = (targets, target_ids, scores, target_bank_scores)
        options.check_url("store", store)
        _refresh(correction, store, files, output_path=out, force=force, json=json)
        return
    from unhub.api.fitted_vectors import ends_with
    from unhub.dataset.galleries import open_source
    from unhub.dataset.reader import column_ids, named
    from unhub.deploy.journal import Journal

    replaced = output.check(out, ENDINGS, (targets, target_ids, scores, target_bank_scores))
    if (targets is None) == (scores is None):
        raise InputError("extend needs the new targets: either embeddings (--targets) or scores (--scores).")
    in_place = out is not None and output.same_file(Path(correction).expanduser(), Path(out).expanduser())
    with Journal(correction).alone() if in_place else nullcontext():  # locked between reading and replacing it
        with working("extending") as progress:
            loaded = unhub.load(correction, memory=memory)
            size, new, already = loaded.bias.size, None, False
            if targets is not None:
                new = named(open_source(targets, name="targets"), target_ids)
                ids = new.ids or _row_ids(size - len(new), len(new))
                already = in_place and ends_with(loaded, new, ids)
            if already:
                bias = loaded.bias[-len(ids) :]
            else:
                bias = loaded.extend(new, scores=scores, target_bank_scores=target_bank_scores, progress=progress)
                own = column_ids(target_ids, len(bias), "scores") if new is None else new.ids
                ids = own or _row_ids(size, len(bias))
        if out is not None and not already:
            _write(out, loaded, new, ids, bias)
    if json:
        rows = [{"id": name, "bias": float(value)} for name, value in zip(ids, bias, strict=True)]
        ended = {"strength": loaded.strength, "output": out, "replaced": replaced and not already, "already": already}
        console.data({"correction": correction, "targets": rows, **ended})
        return
    _show(ids, bias, whole=out is None)
    if already:
        console.say(
            f"{correction} ends with these {len(ids):,} targets already; nothing to do. To append "
            f"them again, give them other ids (--target-ids)."
        )
    elif out is not None:
        output.tell(out, _what(out, loaded, bias), replaced=replaced)
    else:
        console.complain(
            "nothing was saved; add -o bias.csv, or -o with the name of a .unhub to extend the correction."
        )
    if loaded.strength != 1 and (out is None or output.ending(out) != ".unhub"):
        console.complain(f"note: these are at strength 1. {_strength(loaded)}")


def _refresh(
    correction: str,
    store: str | None,
    files: tuple[str | None, ...],
    *,
    output_path: str | None,
    force: bool,
    json: bool,
) -> None:
    """Bring the correction and its exports up to date with the store."""
    from unhub.deploy.refresh import refresh

    if any(each is not None for each in files):
        raise InputError("--store reads the new targets from the store; leave out --targets and --scores.")
    replaced = output.check(output_path or correction, (".unhub",))
    with working("comparing") as progress:
        done = refresh(correction, store, out=output_path, force=force, progress=progress)
    target = output_path or correction
    if json:
        plain = {"correction": correction, **done.to_dict(), "output": target}
        same = not (done.new or done.changed or done.gone) and output_path is None
        console.data(plain | {"replaced": replaced and not same})
        return
    console.say(f"{len(done.new):,} new, {len(done.changed):,} changed, {len(done.gone):,} deleted")
    if done.stale:
        console.say("the export cannot be updated and is now out of date: run unhub export again")
    elif places := [each.destination for each in done.correction.exports if each.destination is not None]:
        console.say(f"updated the exports too: {', '.join(dict.fromkeys(places))}")
    if not (done.new or done.changed or done.gone) and output_path is None:
        console.say(f"{correction} is up to date")
        return
    output.tell(target, f"the bias of {done.correction.bias.size:,} targets", replaced=replaced)


def _strength(loaded: Correction) -> str:
    if not loaded.verdict.served:
        return f"Add nothing to the scores: {loaded.verdict.sentence}"
    return f"Rank by score + {loaded.strength:.2g} * bias, as the verdict on this correction says."


def _row_ids(first: int, count: int) -> tuple[str, ...]:
    """Ids for targets without any: their rows at the end of the gallery."""
    return tuple(str(first + row) for row in range(count))


def _write(out: str, loaded: Correction, new: Rows | None, ids: tuple[str, ...], bias: FloatArray) -> None:
    kind = output.ending(out)
    if kind == ".unhub":
        if new is None:
            raise InputError("an extended correction needs the embeddings of the new targets; pass --targets.")
        loaded.extended(new, ids=list(ids)).save(out)
    elif kind == ".npy":
        import numpy as np

        from unhub.io import replace_file

        with replace_file(out) as temporary:
            np.save(temporary, bias)
    else:
        pairs = list(zip(ids, bias.tolist(), strict=True))
        text = console.as_json(dict(pairs)) if kind == ".json" else output.table_text(kind, ("id", "bias"), pairs)
        output.write_text(out, text)


def _what(out: str, loaded: Correction, bias: FloatArray) -> str:
    if output.ending(out) != ".unhub":
        return f"the bias of {len(bias):,} new targets"
    return (
        f"the bias of {loaded.bias.size:,} targets and {len(bias):,} new ones after them; to search it, pass --targets "
        f"with the vectors of both in this order"
    )


def _show(ids: tuple[str, ...], bias: FloatArray, *, whole: bool) -> None:
    """Every bias as tab-separated text in a pipe; the first ones as a table on a terminal."""
    rows = [[name, f"{value:+.6f}"] for name, value in zip(ids, bias.tolist(), strict=True)]
    if console.on_terminal():
        console.table(("id", "bias"), rows[:SHOWN_TARGETS])
        if len(rows) > SHOWN_TARGETS and whole:
            console.say(f"and {len(rows) - SHOWN_TARGETS:,} more; -o bias.csv writes all of them")
    elif whole:
        console.exactly(output.table_text(".tsv", ("id", "bias"), rows).removesuffix("\n"))
