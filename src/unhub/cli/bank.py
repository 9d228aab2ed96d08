"""``unhub bank``: a bank of queries for whoever has no log."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from unhub.cli import console, options, output
from unhub.cli.console import working
from unhub.cli.options import value


def command(
    source: Annotated[
        str,
        typer.Argument(metavar="TEXTS", help="A .txt with one query in each line, or a .jsonl, .csv or .tsv table."),
    ],
    out: Annotated[str, output.option("The .npy file to write; ids and texts go next to it.")],
    encoder: Annotated[
        str | None,
        value(
            "NAME",
            "Turns text into vectors: MODULE:FUNCTION or a sentence-transformers model; default: $UNHUB_ENCODER.",
        ),
    ] = None,
    model: Annotated[str | None, value("NAME_OR_FOLDER", "Instead: a model as unhub encode takes it.")] = None,
    kind: Annotated[
        str,
        value("NAME", "What the texts are: examples (typed queries), titles (of other items), queries (a public set)."),
    ] = "examples",
    column: Annotated[str | None, value("NAME", "The table column with the texts.")] = None,
    targets: options.Targets = None,
    target_captions: Annotated[
        str | None, value("FILE", "The gallery's own titles or captions, to keep them out of the bank.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a bank from texts, for a gallery without query logs: 100 typed example queries are wanted.

    Empty and repeated lines are left out and counted. Queries that are targets themselves are left out too, and a file
    that holds the gallery's own titles is refused.

    \b
    Examples:
      unhub bank examples.txt --encoder mymodule:encode -o bank.npy
      unhub bank examples.txt --encoder mymodule:encode --targets targets.npy -o bank.npy --json
    """
    from unhub import make_bank

    replaced = output.check(out, (".npy",), (source, targets, target_captions))
    with working("encoding"):
        made = make_bank(
            source, output=out, encoder=encoder, model=model, kind=kind, column=column,  # type: ignore[arg-type]
            targets=targets, target_captions=target_captions,
        )  # fmt: skip
    step = shlex.join(
        ["unhub", "fit", "--targets", targets or "targets.npy", "--query-bank", out, "-o", "correction.unhub"]
    )
    if json:
        console.data(made.to_dict() | {"replaced": replaced, "next": step})
        return
    left = {"empty lines": made.empty, "repeated lines": made.repeated, "texts of the gallery": made.of_gallery}
    if any(left.values()):
        console.say(f"left out: {', '.join(f'{number:,} {what}' for what, number in left.items() if number)}")
    for sentence in made.sentences:
        console.say(sentence)
    output.tell(out, f"{made.rows:,} queries of {made.dim:,} numbers, texts in {made.texts}", replaced=replaced)
    console.say(f"next: {step}")
