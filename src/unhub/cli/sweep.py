"""``unhub sweep``: what a temperature, the size of a bank, its source, the strength or the rounds do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unhub.cli import console, options
from unhub.cli.progress import working

SCHEMA_VERSION = 1
TRANSDUCTIVE = "the test queries as the bank: transductive"


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An experiment file, as unhub reproduce takes it.")],
    over: Annotated[
        str, typer.Option(metavar="NAME", help="tau, bank-size, bank-source, strength or iterations.")
    ] = "tau",
    bank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A bank of the file; the test queries themselves if not given.", show_default=False
        ),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="One of the file's two directions; the first if not given.", show_default=False
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(metavar="paper|authors", help="Settings as the paper says, or as its authors' scripts have.")
    ] = "paper",
    relative: Annotated[
        bool,
        typer.Option("--relative", help="Temperatures from 1/12 to twice the spread of the scores."),
    ] = False,
    rounds: Annotated[int, typer.Option(metavar="N", help="How often parts of a bank are drawn anew.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="For what is drawn.")] = 0,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Where points, CSV and figure go.", show_default=False),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run a sweep of the paper on your embeddings or matrices.

    With a folder, finished points are kept there: interrupted, the same command goes on.

    \b
    Examples:
      unhub sweep experiment.toml --over tau --relative
      unhub sweep experiment.toml --over bank-size --bank val --rounds 2 -o sweeps
      unhub sweep experiment.toml --over iterations --direction reverse
    """
    from dataclasses import asdict

    from unhub.core.parameters import count, seed_number
    from unhub.experiments import preset, read_experiment, sweep
    from unhub.experiments.sweeps import sweep_stem
    from unhub.foundation.atomic import replace_file
    from unhub.foundation.optional import installed
    from unhub.report import sweep_results

    experiment, chosen = read_experiment(file), preset(protocol)
    folder = None if output is None else Path(output)
    if output is not None:
        Path(output).mkdir(parents=True, exist_ok=True)  # it fails now, or not at all
    with working("sweeping") as progress:
        points = sweep(
            experiment, over, chosen, bank=bank, direction=direction, rounds=count("rounds", rounds),
            seed=seed_number("seed", seed), relative=relative, folder=folder, progress=progress,
        )  # fmt: skip
    stem = sweep_stem(experiment, over, direction, bank)
    if folder is not None:
        with replace_file(folder / f"{stem}.csv") as temporary:
            Path(temporary).write_text(sweep_results.csv_lines(over, points), encoding="utf-8")
        if over in sweep_results.FIGURES and installed("matplotlib"):
            from unhub.report.figures import save

            drawn = sweep_results.figure(over, points)
            if drawn is not None:
                save(drawn, folder / stem)
    if json:
        told = [asdict(point) for point in points]
        way = direction or experiment.directions[0]
        console.data(
            {"schema_version": SCHEMA_VERSION, "over": over, "protocol": protocol, "direction": way, "points": told}
        )
        return
    learnt = "every bank" if over == "bank-source" else f"the bank {bank}" if bank else TRANSDUCTIVE
    console.say(f"{experiment.name}, {experiment.model}, {direction or experiment.directions[0]}, {learnt}")
    titles, lines = sweep_results.rows(over, points)
    console.table(titles, lines, left=(1,))
    if folder is not None:
        console.say(f"written to {output}")
