"""``unhub import``: an experiment folder from files that authors publish."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.cli.options import file, flag, value
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.experiments.importing import Imported

PASSED = (
    "scores", "queries", "targets", "masks", "relevant", "first", "captions", "target_ids", "transpose", "scale",
    "trust",
)  # fmt: skip


def command(
    context: typer.Context,
    out: Annotated[str, value("FOLDER", "The folder to create.", "-o", "--output")],
    scores: Annotated[
        str | None,
        file("Test scores: queries x targets, or three dimensions (target, its queries, target) padded with -inf."),
    ] = None,
    queries: options.Queries = None,
    targets: Annotated[str | None, file("Embeddings of the targets, instead of scores.")] = None,
    bank: Annotated[
        list[str] | None,
        value(
            "NAME=FILES",
            "A bank, repeatable: embeddings of its queries and, after a comma, of its targets; or matrices: bank "
            "queries x test targets and, after commas, bank queries x bank targets, bank targets x test targets.",
            "--bank",
        ),
    ] = None,
    masks: Annotated[str | None, file("0 for each query that is padding.")] = None,
    transpose: Annotated[bool, flag("--transpose", "The matrices are targets x queries.")] = False,
    relevant: Annotated[str | None, file("The relevant target of each query: its id, or its row from 0 or 1.")] = None,
    first: Annotated[int | None, value("0|1", "Where row numbers start, if that is ambiguous.")] = None,
    captions: Annotated[str | None, file("Query texts: one per line, a JSON list, or lists by target id.")] = None,
    target_ids: options.TargetIds = None,
    scale: Annotated[str, value("auto|NUMBER", "Divide scores by this; auto recognises CLIP's 100.")] = "auto",
    name: Annotated[str | None, value("TEXT", "Name of the dataset; the folder's name by default.")] = None,
    model: Annotated[str, value("TEXT", "Name of the model.")] = "model",
    modality: Annotated[
        str | None, value("image|video|audio", "Kind of the targets; names the directions (t2i, t2v, ...).")
    ] = None,
    trust: Annotated[bool, flag("--trust", "Read pickles: arrays and plain containers only, no code is run.")] = False,
    json: options.Json = False,
) -> None:
    """Turn files that authors publish into an experiment for unhub reproduce.

    Reads pickles (with --trust), npy, pt, mat and other formats. Removes padding and masked queries, divides logits,
    merges targets that are repeated for each caption, and says what it did. The folder gets float32 arrays and
    experiment.toml; it is written completely or not at all.

    \b
    Examples:
      unhub import --scores test.pkl --bank train=train.pkl --masks masks.pkl -o msrvtt --modality video --trust
      unhub import --scores sim_matrix.npy -o msvd
      unhub import --queries test_txts.npy --targets test_imgs.npy --bank train=train_txts.npy,train_imgs.npy -o f30k
      unhub import --scores images_texts.npy --transpose --relevant from_one.txt -o coco --json
    """
    from unhub.experiments.importing import Dump, import_published

    dump = Dump(**options.given(context, PASSED), banks=_banks(bank or []))
    with working("importing") as progress:
        imported = import_published(out, dump, name=name, model=model, modality=modality, progress=progress)
    if json:
        console.data(_to_dict(imported))
    else:
        _show(imported, out)


def _banks(words: list[str]) -> dict[str, list[str]]:
    """Name of a bank -> its files."""
    banks: dict[str, list[str]] = {}
    for each in words:
        name, sign, files = each.partition("=")
        if not sign or not options.names(files):
            raise InputError(f"--bank is {each!r}; write NAME=FILES, such as --bank train=train.npy.")
        if name in banks:
            raise InputError(f"--bank {name} appears twice; list its files once, separated by commas.")
        banks[name] = options.names(files)
    return banks


def _to_dict(imported: Imported) -> dict[str, Any]:
    parts = {
        where: {"file": part.file, "shape": list(part.shape), "source": part.source}
        for where, part in imported.parts.items()
    }
    return {
        "experiment": str(imported.experiment), "name": imported.name,
        "model": imported.model, "queries": imported.queries, "targets": imported.targets,
        "left_out": imported.left_out, "divided_by": imported.divisor, "settings": imported.settings, "parts": parts,
        "said": list(imported.notes),
    }  # fmt: skip


def _show(imported: Imported, out: str) -> None:
    console.say(f"{imported.name}, {imported.model}", style="bold")
    console.say(f"{imported.queries:,} queries, {imported.targets:,} targets")
    for each in imported.notes:
        console.say(each)
    rows = [
        [where, " x ".join(f"{each:,}" for each in part.shape), part.file, part.source]
        for where, part in imported.parts.items()
    ]
    console.table(["part", "shape", "file", "from"], rows, left=(0, 2, 3))
    console.say(f"next: {shlex.join(['unhub', 'check', os.fspath(Path(out) / imported.experiment.name)])}")
