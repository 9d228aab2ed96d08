"""``unhub encode``: images, audio files, video frames or texts to an embedding file, with a model of your choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options, output
from unhub.cli.failures import INTERRUPTED
from unhub.cli.progress import working

if TYPE_CHECKING:
    from unhub.encode import Encoded

SCHEMA_VERSION = 1
SHOWN_SKIPPED = 5


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="A folder, a quoted pattern ('shots/*.png'), a .txt, or a .jsonl, .csv or .tsv table."
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME_OR_FOLDER",
            help="A model's folder or its name on the hub; open_clip's own as ViT-B-32:laion2b_s34b_b79k.",
            show_default=False,
        ),
    ],
    out: Annotated[str, output.option("The embeddings: a file that ends in .npy; ids go to .ids.txt beside it.")],
    kind: Annotated[
        str, typer.Option(metavar="NAME", help="text, image, audio or video; auto follows the endings of the files.")
    ] = "auto",
    library: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="sentence-transformers, transformers or open-clip; auto follows what the model's folder holds.",
        ),
    ] = "auto",
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of a table that holds the texts or paths.")
    ] = None,
    ids: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of a table that holds the ids, or a file of ids.")
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", help="How many items the model gets at once.")] = 32,
    max_length: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens of a text that are read; as many as the model can, if not.")
    ] = None,
    frames: Annotated[int, typer.Option(metavar="N", help="Evenly spaced frames of a video, whose mean it is.")] = 8,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps; a GPU if there is one.")
    ] = None,
    precision: Annotated[
        str, typer.Option(metavar="NAME", help="float32 or float16; auto is float16 on a GPU and float32 on a CPU.")
    ] = "auto",
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave the vectors at the length that the model gave them.")
    ] = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave files out that cannot be read, and count them.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Turn images, audio files, videos or texts into embeddings, one row each, with their ids beside them.

    Finished batches are kept beside the output (OUT.part) until all are there; after an interruption the same command
    goes on from them. A small record beside the output (.encoded.json) says which ids belong to which vectors.
    Rows have unit length unless --raw is given.

    \b
    Examples:
      unhub encode photos --model ./clip-vit-base-patch32 -o photos.npy
      unhub encode captions.txt --model ./clip-vit-base-patch32 -o captions.npy
      unhub encode articles.jsonl --column title --model ./all-MiniLM-L6-v2 -o articles.npy --json
    """
    from unhub.encode import encode_files
    from unhub.encode.parts import ids_beside

    replaced = output.check(out, (".npy",), (source,))
    if skip_broken:  # the ids of what is left out would go
        output.check(str(ids_beside(Path(out))), (".txt",), (ids,))
    part = Path(f"{out}.part").expanduser()
    try:
        with working("loading the model") as progress:
            done = encode_files(
                source,
                model=model,
                out=out,
                kind=kind,
                library=library,
                column=column,
                ids=_ids(ids),
                device=device,
                precision=precision,
                batch=batch,
                max_length=max_length,
                frames=frames,
                unit=not raw,
                skip_broken=skip_broken,
                progress=progress,
            )
    except KeyboardInterrupt:
        if not part.exists():
            raise
        console.complain(f"interrupted; what is finished is in {part}: the same command goes on.")
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
        "schema_version": SCHEMA_VERSION,
        "model": encoder.model,
        "library": encoder.library,
        "kind": done.kind,
        "vector": encoder.how,
        "device": encoder.device,
        "precision": encoder.precision,
        "max_length": encoder.max_length,
        "unit": done.unit,
        "rows": done.rows,
        "dim": done.dim,
        "resumed": done.resumed,
        "skipped": list(done.skipped),
        "output": out,
        "ids": str(done.ids),
        "replaced": replaced,
    }


def _show(plain: dict[str, Any]) -> None:
    console.say(f"{plain['model']} ({plain['library']})", style="bold")
    limit = f", up to {plain['max_length']} tokens" if plain["max_length"] is not None else ""
    console.say(f"{plain['kind']} by {plain['vector']}{limit}, {plain['precision']} on {plain['device']}")
    if plain["resumed"]:
        console.say(f"{plain['resumed']:,} items were finished before")
    if plain["skipped"]:
        names = ", ".join(name for name in plain["skipped"][:SHOWN_SKIPPED])
        more = ", ..." if len(plain["skipped"]) > SHOWN_SKIPPED else ""
        console.say(f"left out, since they cannot be read: {len(plain['skipped']):,} ({names}{more})")
    length = "unit vectors" if plain["unit"] else "vectors"
    what = f"{plain['rows']:,} {length} of {plain['dim']:,} numbers, ids in {plain['ids']}"
    output.tell(plain["output"], what, replaced=plain["replaced"])
