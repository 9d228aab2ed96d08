"""``unhub reproduce``: the paper's tables on a dataset of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unhub.cli import console, options
from unhub.cli.progress import working
from unhub.foundation.errors import InputError

if TYPE_CHECKING:
    from unhub.experiments.comparing import Compared
    from unhub.experiments.result import ResultTable

SCHEMA_VERSION = 1
INIT = "init"
NEW = "experiment.toml"


def command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An experiment file (TOML or YAML), or the word init to write one.")
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
    every: Annotated[bool, typer.Option("--all", help="Every table that can be made of what the file names.")] = False,
    protocol: Annotated[
        str, typer.Option(metavar="paper|authors", help="Settings as the paper says, or as its authors' scripts have.")
    ] = "paper",
    compare: Annotated[
        str | None,
        typer.Option(metavar="paper", help="Set our values beside the paper's.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Where tables, runs and per-query values go.", show_default=False
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the paper's experiments on your embeddings or matrices.

    One file names the parts of a dataset; each table is run with what is there, with tests of significance, and written
    as text, Markdown, LaTeX, CSV, JSON, TREC runs and per-query values if there is a folder for them.

    \b
    Examples:
      unhub reproduce init -o mine.toml
      unhub reproduce experiment.toml --all -o results
    """
    if file == INIT:
        _init(Path(output or NEW))
        return
    if compare not in (None, "paper"):
        raise InputError(f"--compare is {compare!r}; the only values to compare with are the paper's: --compare paper.")
    from unhub.experiments import possible, preset, read_experiment, reproduce
    from unhub.experiments.comparing import compare as compared
    from unhub.experiments.comparing import refuse_unknown
    from unhub.experiments.running import named
    from unhub.report import result_files, result_tables

    experiment, chosen = read_experiment(file), preset(protocol)
    can = [name for name, lacking in possible(experiment).items() if lacking is None]
    wanted = list(table or []) or (can if every else can[:1])
    if not wanted:
        raise InputError(f"{experiment.path}: no table can be made of it; see unhub check {file}.")
    if compare:
        refuse_unknown(experiment.name, experiment.model, [one for each in wanted for one in named(each).numbers])
    if output is not None:
        Path(output).mkdir(parents=True, exist_ok=True)  # it fails now, or not at all
    with working("reproducing") as progress:
        made = reproduce(experiment, wanted, chosen, progress=progress)
    beside = {each.name: compared(each, named(each.name).numbers) for each in made} if compare else {}
    if output is not None:
        for each in made:
            result_files.write(each, experiment, Path(output))
    if json:
        console.data(
            {
                "schema_version": SCHEMA_VERSION,
                "tables": {each.name: result_files.plain(each) for each in made},
                "compared": {name: [_plain(one) for one in found] for name, found in beside.items()},
            }
        )
        return
    for each in made:
        console.say(result_tables.plain(each))
        if compare:
            _show(each, beside[each.name])
    if output is not None:
        console.say(f"written to {output}")


def _init(path: Path) -> None:
    from unhub.experiments.template import TEMPLATE
    from unhub.foundation.atomic import replace_file

    if path.exists():
        raise InputError(f"{path} is there already; choose another name with -o.")
    with replace_file(path) as temporary:
        Path(temporary).write_text(TEMPLATE, encoding="utf-8")
    console.say(f"written to {path}; fill it in, then: unhub check {path}")


def _show(table: ResultTable, found: list[Compared]) -> None:
    """Ours, theirs and the difference; a value that cannot be right is shown, and not judged."""
    from unhub.experiments.reference import DOUBTED
    from unhub.report.result_tables import NAMES, number

    lines = [f"beside the paper: {table.dataset}, {table.model}" + ("" if found else ": it prints no such values")]
    for each in found:
        where = f"{NAMES.get(each.method, each.method):10} {each.bank:14} {each.direction:4} {each.metric:8}"
        values = f"{number(each.metric, each.ours):>7} {each.theirs.value:>7g}"
        doubt = DOUBTED.get(each.theirs.flag)
        lines.append(f"{where}{values}  " + (f"({doubt})" if doubt else f"{each.difference:+.1f}"))
    console.say("\n".join(lines))


def _plain(each: Compared) -> dict[str, object]:
    return {
        "bank": each.bank, "method": each.method, "direction": each.direction, "metric": each.metric,
        "ours": each.ours, "paper": each.theirs.value, "table": each.theirs.table, "flag": each.theirs.flag,
        "difference": None if each.theirs.flag == "misprint" else each.difference,
    }  # fmt: skip
