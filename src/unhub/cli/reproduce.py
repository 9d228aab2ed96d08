"""``unhub reproduce``: the paper's tables and figures on a dataset of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unhub.cli import console, options
from unhub.cli.progress import working
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.experiments.comparing import Compared
    from unhub.experiments.result import ResultTable
    from unhub.report.reproduction import Reproduced

SCHEMA_VERSION = 1
INIT = "init"
NEW = "experiment.toml"


def command(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Experiment files (TOML or YAML), or the word init to write one."),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="A table by its name or by the paper's number, such as query-aware or A7; may be given again.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure", metavar="NAME", help="A figure by its name, such as radar; may be given again.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every table and, with -o, every figure that the files have the parts for.")
    ] = False,
    bank: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The bank that figures are drawn with; the test queries if not given.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(metavar="paper|authors", help="Settings as the paper says, or as its authors' scripts have.")
    ] = "paper",
    compare: Annotated[
        str | None,
        typer.Option(metavar="paper", help="Set our values beside the paper's.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For what figures draw at random.")] = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Where tables, figures, runs and per-query values go.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Run the paper's experiments on your embeddings or matrices.

    One file names the parts of a dataset; each table is run with what is there, with tests of significance, and written
    as text, Markdown, LaTeX, CSV, JSON, TREC runs and per-query values if there is a folder for them, and each figure
    as PDF and PNG. Several files stand side by side in one LaTeX table and in one radar.

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
        raise InputError(f"--compare is {compare!r}; the only values to compare with are the paper's: --compare paper.")
    if every and table:
        raise InputError("--all and --table exclude each other; leave one of them out.")
    if figure and output is None:
        raise InputError("--figure needs a folder to draw into; add -o FOLDER.")
    from unhub.core.parameters import seed_number
    from unhub.report.reproduction import Wanted, reproduced

    wanted = Wanted(tuple(table or ()), tuple(figure or ()), every, bank, seed_number("seed", seed), bool(compare),
                    options.again(context))  # fmt: skip
    folder = None if output is None else Path(output)
    with working("reproducing") as progress:
        done = reproduced(files, wanted, protocol, folder, progress)
    if json:
        console.data({"schema_version": SCHEMA_VERSION, "experiments": [_plain(each) for each in done.experiments]})
        return
    for each in done.experiments:
        for made in each.tables:
            _print(made)
            if compare:
                _show(made, each.compared[made.name])
    for note in done.notes:
        console.say(note)
    if output is not None:
        console.say(f"written to {output}")


def _init(words: list[str], output: str | None) -> None:
    from unhub.experiments.template import TEMPLATE
    from unhub.foundation.atomic import replace_file

    if len(words) > 1:
        raise InputError(f"init takes no files, but there is {words[1]!r}; name the file to write with -o.")
    path = Path(output or NEW)
    if path.exists():
        raise InputError(f"{path} is there already; choose another name with -o.")
    with replace_file(path) as temporary:
        Path(temporary).write_text(TEMPLATE, encoding="utf-8")
    console.say(f"written to {path}; fill it in, then: unhub check {shlex.quote(str(path))}")


def _print(table: ResultTable) -> None:
    """The table: as it is written to table.txt, and on a terminal with the best of each column in colour."""
    from unhub.report import result_tables

    if not console.on_terminal():
        console.lines(result_tables.plain(table))
        return
    titles, lines, best = result_tables.grid(table)
    console.say(result_tables.title(table))
    console.table(titles, lines, left=(0, 1), strong=best)
    console.lines("\n".join(result_tables.notes(table, "  ")))


def _show(table: ResultTable, found: list[Compared]) -> None:
    """Ours, theirs and the difference; a value that cannot be right is shown, and not judged."""
    from unhub.experiments.reference import DOUBTED
    from unhub.experiments.result import SPARSITY
    from unhub.report.result_tables import NAMES, number, shown

    told = f"beside the paper: {table.dataset}, {table.model}"
    if not found:
        console.say(f"{told}: it prints no such values")
        return
    lines = []
    for each in found:
        off = each.difference
        digits = 3 if each.metric == SPARSITY else 1
        lines.append([
            NAMES.get(each.method, each.method), each.bank, each.direction, shown(table.name, each.metric),
            number(each.metric, each.ours), number(each.metric, each.theirs.value),
            "" if off is None else f"{off:+.{digits}f}", DOUBTED.get(each.theirs.flag, ""),
        ])  # fmt: skip
    console.say(told)
    titles = ["method", "bank", "direction", "metric", "ours", "paper", "difference", ""]
    console.table(titles, lines, left=(0, 1, 2, 3, 7))


def _plain(each: Reproduced) -> dict[str, Any]:
    from unhub.report import result_files

    return {
        "file": str(each.experiment.path),
        "dataset": each.experiment.name,
        "model": each.experiment.model,
        "tables": {made.name: result_files.plain(made) for made in each.tables},
        "compared": {name: [_beside(one) for one in found] for name, found in each.compared.items()},
        "figures": [str(path) for path in each.figures],
    }


def _beside(each: Compared) -> dict[str, object]:
    return {
        "bank": each.bank, "method": each.method, "direction": each.direction, "metric": each.metric,
        "ours": each.ours, "paper": each.theirs.value, "table": each.theirs.table, "flag": each.theirs.flag,
        "difference": each.difference,
    }  # fmt: skip
