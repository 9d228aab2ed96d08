"""``unhub reproduce`` and ``unhub sweep``: the paper's tables, figures and sweeps on your own data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unhub.cli import console, options
from unhub.cli.console import working
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.experiments.reference import Comparison
    from unhub.experiments.reproduction import ExperimentResult
    from unhub.foundation.tables import Table

SCHEMA_VERSION = 1
INIT = "init"
NEW = "experiment.toml"
TRANSDUCTIVE = "the test queries as the bank: transductive"


def command(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Experiment files (TOML or YAML), or init to write a template."),
    ],
    table: Annotated[
        list[str] | None,
        options.value("NAME", "A table by name or by its number in the paper, such as banks or A7; repeatable."),
    ] = None,
    figure: Annotated[list[str] | None, options.value("NAME", "A figure by name, such as radar; repeatable.")] = None,
    every: Annotated[bool, options.flag("--all", "Every table and, with -o, every figure that is possible.")] = False,
    bank: Annotated[str | None, options.value("NAME", "The bank for figures; the test queries by default.")] = None,
    protocol: options.ExperimentProtocol = None,
    compare: Annotated[str | None, options.value("paper", "Compare with the paper's values.")] = None,
    seed: Annotated[int, options.value("N", "Random seed for figures.")] = 0,
    output: Annotated[
        str | None,
        options.value("FOLDER", "Folder for tables, figures, runs and per-query values.", "-o", "--output"),
    ] = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Run the paper's experiments on your embeddings or matrices.

    An experiment file names the parts of a dataset. Each table is computed from the parts that are there, with
    significance tests. With -o, tables are written as text, Markdown, LaTeX, CSV, JSON, TREC runs and per-query values,
    and figures as PDF and PNG. Several files share one LaTeX table and one radar.

    \b
    Examples:
      unhub reproduce init -o mine.toml
      unhub reproduce experiment.toml --all -o results
      unhub reproduce experiment.toml --figure top5 --bank val -o results
    """
    if files[0] == INIT:
        _init(files, output)
        return
    if compare not in (None, "paper"):
        raise InputError(f"--compare is {compare!r}; use --compare paper.")
    if every and table:
        raise InputError("--all and --table exclude each other; use one of them.")
    if figure and output is None:
        raise InputError("--figure needs an output folder; add -o FOLDER.")
    from unhub.core.parameters import seed_number
    from unhub.experiments import reproduce
    from unhub.foundation.optional import installed
    from unhub.reports.result_files import FolderWriter

    notes = []
    figures: Sequence[str] | Literal["all"] | None = figure
    if every and output is not None and not figure:
        figures = "all" if installed("matplotlib") else None
        if figures is None:
            notes.append("no figures: they need matplotlib; install it with: pip install 'unhub[figures]'")
    writer = None if output is None else FolderWriter(output, options.again(context))
    with working("reproducing") as progress:
        done = reproduce(
            files, "all" if every else table, figures, protocol, bank, output, progress, seed=seed_number("seed", seed),
            compared=bool(compare), observer=writer,
        )  # fmt: skip
        if writer is not None:
            writer.finish(done)
    paths = {} if writer is None else writer.paths
    if json:
        results = [_to_dict(each, paths.get(each.plan.folder, ())) for each in done.experiments]
        console.data({"schema_version": SCHEMA_VERSION, "experiments": results})
        return
    from unhub.reports.result_tables import comparison_table, result_table

    for each in done.experiments:
        for made in each.tables:
            console.show_table(result_table(made))
            if compare:
                _show(comparison_table(made, each.comparisons[made.name]))
    for note in (*notes, *done.notes, *(() if writer is None else writer.notes)):
        console.say(console.in_flags(note))
    if output is not None:
        console.say(f"wrote {output}")


def _init(words: list[str], output: str | None) -> None:
    from importlib.resources import files

    from unhub.foundation.atomic import replace_file

    if len(words) > 1:
        raise InputError(f"init takes no files but got {words[1]!r}; name the file to write with -o.")
    path = Path(output or NEW)
    if path.exists():
        raise InputError(f"{path} exists already; choose another name with -o.")
    with replace_file(path) as temporary:
        Path(temporary).write_bytes((files("unhub.experiments") / "template.toml").read_bytes())
    console.say(f"wrote {path}; fill it in, then run: unhub check {shlex.quote(str(path))}")


def _show(table: Table) -> None:
    console.say(table.title)
    if table.rows:
        console.table(table.columns, [[str(cell) for cell in row] for row in table.rows], left=table.left)


def _to_dict(result: ExperimentResult, figures: Iterable[Path]) -> dict[str, Any]:
    from unhub.reports import result_files

    data = result.plan.run.data
    return {
        "file": str(data.path),
        "dataset": data.name,
        "model": data.model,
        "tables": {made.name: result_files.to_dict(made) for made in result.tables},
        "compared": {name: [_comparison(one) for one in each] for name, each in result.comparisons.items()},
        "figures": [str(path) for path in figures],
    }


def _comparison(each: Comparison) -> dict[str, object]:
    return {
        "bank": each.bank, "method": each.method, "direction": each.direction, "metric": each.metric,
        "ours": each.ours, "paper": each.theirs.value, "table": each.theirs.table, "flag": each.theirs.flag,
        "difference": each.difference,
    }  # fmt: skip


def sweep_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An experiment file, as for unhub reproduce.")],
    over: Annotated[
        str, options.value("NAME", "What to vary: tau, bank-size, bank-source, strength or iterations.")
    ] = "tau",
    bank: Annotated[str | None, options.value("NAME", "A bank; the test queries by default.")] = None,
    direction: options.Direction = None,
    protocol: options.ExperimentProtocol = None,
    relative: Annotated[
        bool | None,
        options.flag("--relative/--absolute", "Temperatures follow the spread of the scores, or are the paper's."),
    ] = None,
    rounds: Annotated[int, options.value("N", "How often to draw parts of a bank.")] = 5,
    seed: Annotated[int, options.value("N", "Random seed.")] = 0,
    output: Annotated[
        str | None, options.value("FOLDER", "Folder for the points, CSV and figure.", "-o", "--output")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run one of the paper's sweeps on your embeddings or matrices.

    With -o, finished points are saved in the folder; after an interruption, run the same command again to continue.

    \b
    Examples:
      unhub sweep experiment.toml --over tau --relative
      unhub sweep experiment.toml --over bank-size --bank val --rounds 2 -o sweeps
      unhub sweep experiment.toml --over iterations --direction reverse
    """
    from dataclasses import asdict

    from unhub.core.parameters import count, seed_number
    from unhub.dataset import Dataset
    from unhub.experiments import preset, sweep
    from unhub.experiments.figure_data import SweepData
    from unhub.experiments.sweeps import sweep_stem
    from unhub.reports.result_files import write_figure
    from unhub.reports.result_tables import sweep_table

    data, chosen = Dataset.open(file), preset(protocol)
    folder: Path | None = None if output is None else Path(output)
    notes: tuple[str, ...] = ()
    if output is not None:
        Path(output).mkdir(parents=True, exist_ok=True)  # fail now rather than at the end
    with working("sweeping") as progress:
        points = sweep(
            data, over, chosen, bank=bank, direction=direction, rounds=count("rounds", rounds),
            seed=seed_number("seed", seed), relative=relative, folder=folder, progress=progress,
        )  # fmt: skip
    if folder is not None:
        notes = write_figure(SweepData(sweep_stem(data, over, direction, bank), over, points), folder)[1]
    if json:
        values = [asdict(point) for point in points]
        way = direction or data.directions[0]
        console.data(
            {
                "schema_version": SCHEMA_VERSION,
                "over": over,
                "protocol": chosen.name,
                "direction": way,
                "points": values,
            }
        )
        return
    learnt = "every bank" if over == "bank-source" else f"the bank {bank}" if bank else TRANSDUCTIVE
    console.say(f"{data.name}, {data.model}, {direction or data.directions[0]}, {learnt}")
    rows = sweep_table(over, points)
    console.table(rows.columns, [[str(cell) for cell in row] for row in rows.rows], left=rows.left)
    for note in notes:
        console.say(note)
    if folder is not None:
        console.say(f"wrote {output}")
