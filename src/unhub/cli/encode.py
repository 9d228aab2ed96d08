"""``unhub encode``: embeddings of images, audio, videos or texts, from a model of your choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.failures import INTERRUPTED
from unhub.cli.options import flag, value

if TYPE_CHECKING:
    from unhub.encoders import Encoded

SHOWN_SKIPPED = 5
PASSED = (
    "model", "kind", "library", "column", "device", "precision", "batch", "max_length", "frames", "skip_broken",
)  # fmt: skip


def command(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="A folder, a quoted pattern ('shots/*.png'), a .txt, or a .jsonl, .csv or .tsv table."
        ),
    ],
    model: Annotated[
        str,
        value(
            "NAME_OR_FOLDER",
            "A model folder or a name on the Hugging Face hub; for open_clip, such as ViT-B-32:laion2b_s34b_b79k.",
        ),
    ],
    out: Annotated[str, output.option("The .npy file to write; ids go to .ids.txt next to it.")],
    kind: Annotated[str, value("NAME", "text, image, audio or video; auto decides by file endings.")] = "auto",
    library: Annotated[
        str, value("NAME", "sentence-transformers, transformers or open-clip; auto decides by the model's files.")
    ] = "auto",
    column: Annotated[str | None, value("NAME", "The table column with the texts or paths.")] = None,
    ids: Annotated[str | None, value("NAME", "The table column with the ids, or a file of ids.")] = None,
    batch: Annotated[int, value("N", "Items per batch.")] = 32,
    max_length: Annotated[
        int | None, value("N", "Tokens to read of each text; as many as the model takes by default.")
    ] = None,
    frames: Annotated[int, value("N", "Evenly spaced frames per video; their embeddings are averaged.")] = 8,
    device: Annotated[str | None, value("NAME", "cpu, cuda, cuda:1 or mps; by default a GPU if there is one.")] = None,
    precision: Annotated[
        str, value("NAME", "float32 or float16; auto is float16 on a GPU and float32 on a CPU.")
    ] = "auto",
    raw: Annotated[bool, flag("--raw", "Keep the vectors' own lengths instead of scaling to unit length.")] = False,
    skip_broken: Annotated[bool, flag("--skip-broken", "Skip files that cannot be read, and count them.")] = False,
    json: options.Json = False,
) -> None:
    """Turn images, audio files, videos or texts into embeddings, one row each, with their ids.

    Finished batches are saved next to the output (OUT.part) until all are done; after an interruption, run the same
    command again to continue. A record next to the output (.encoded.json) ties the ids to the vectors. Rows have unit
    length unless --raw is given.

    \b
    Examples:
      unhub encode photos --model ./clip-vit-base-patch32 -o photos.npy
      unhub encode captions.txt --model ./clip-vit-base-patch32 -o captions.npy
      unhub encode articles.jsonl --column title --model ./all-MiniLM-L6-v2 -o articles.npy --json
    """
    from unhub import encode
    from unhub.encoders.parts import ids_beside

    replaced = output.check(out, (".npy",), (source,))
    if skip_broken:  # a file of ids would be overwritten
        output.check(str(ids_beside(Path(out))), (".txt",), (ids,))
    part = Path(f"{out}.part").expanduser()
    try:
        with working("loading the model") as progress:
            chosen = options.given(context, PASSED)
            done = encode(source, **chosen, output=out, ids=_ids(ids), unit=not raw, progress=progress)
    except KeyboardInterrupt:
        if not part.exists():
            raise
        console.complain(f"interrupted; finished batches are in {part}: run the same command again to continue.")
        raise typer.Exit(INTERRUPTED) from None
    plain = _plain(done, out, replaced)
    if json:
        console.data(plain)
    else:
        _show(plain)


def _ids(text: str | None) -> str | tuple[str, ...] | None:
    """The name of a column, or the ids of a file."""
    from unhub.io import read_ids

    return read_ids(text) if text is not None and Path(text).expanduser().is_file() else text


def _plain(done: Encoded, out: str, replaced: bool) -> dict[str, Any]:
    encoder = done.encoder
    return {
        "model": encoder.model, "library": encoder.library, "kind": done.kind,
        "vector": encoder.how, "device": encoder.device, "precision": encoder.precision,
        "max_length": encoder.max_length, "unit": done.unit, "rows": done.rows, "dim": done.dim,
        "resumed": done.resumed, "skipped": list(done.skipped), "output": out, "ids": str(done.ids),
        "replaced": replaced,
    }  # fmt: skip


def _show(plain: dict[str, Any]) -> None:
    console.say(f"{plain['model']} ({plain['library']})", style="bold")
    limit = f", up to {plain['max_length']} tokens" if plain["max_length"] is not None else ""
    console.say(f"{plain['kind']} by {plain['vector']}{limit}, {plain['precision']} on {plain['device']}")
    if plain["resumed"]:
        console.say(f"{plain['resumed']:,} items were done already")
    if plain["skipped"]:
        names = ", ".join(name for name in plain["skipped"][:SHOWN_SKIPPED])
        more = ", ..." if len(plain["skipped"]) > SHOWN_SKIPPED else ""
        console.say(f"skipped, unreadable: {len(plain['skipped']):,} ({names}{more})")
    length = "unit vectors" if plain["unit"] else "vectors"
    what = f"{plain['rows']:,} {length} of {plain['dim']:,} numbers, ids in {plain['ids']}"
    output.tell(plain["output"], what, replaced=plain["replaced"])
