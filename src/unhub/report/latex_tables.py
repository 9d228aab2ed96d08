"""ResultTables of one kind as one LaTeX table in the layout that the paper has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from unhub.api.latex_text import escape
from unhub.experiments.result import ResultTable
from unhub.foundation.errors import InputError
from unhub.report.latex_cells import DAGGER, plain_name
from unhub.report.latex_grid import Grid
from unhub.report.latex_layouts import by_dataset, methods_across, one_way, sections, side_by_side, ways
from unhub.report.result_tables import shared, shown, title

Layout = Callable[[Sequence[ResultTable]], Grid]
LAYOUTS: Mapping[str, Layout] = {
    "query-aware": side_by_side,
    "self-retrieval": side_by_side,
    "classification": side_by_side,
    "banks": sections,
    "variants": sections,
    "skewness": methods_across,
}
SAME = {"banks": "bank", "variants": "section"}
"""among which rows letters compare; otherwise among those of a model on a dataset"""

SCALED = r"\resizebox{\textwidth}{!}"
LEFT_OUT = "; what a plan leaves out is tied"


def latex(tables: Sequence[ResultTable]) -> str:
    """One table with booktabs: datasets beside each other, models below each other; its first line names the packages.

    The best of each dataset is bold, or of each section where a table has them. What no page holds comes as several
    tables. What a run had to say about itself is in comments on top, with the names before they were set for LaTeX.
    """
    kinds = list(dict.fromkeys(table.name for table in tables))
    if len(kinds) != 1:
        raise InputError(f"tables are of the kinds {', '.join(kinds) or 'none'}; give one or more, all of one kind.")
    parts = _parts(tables, LAYOUTS[kinds[0]])
    body = "\n\n".join(_environment(part, at, len(parts)) for at, part in enumerate(parts, start=1))
    return rf"% \usepackage{{booktabs,multirow{',graphicx' if SCALED in body else ''}}}" + f"\n{body}"


def _parts(tables: Sequence[ResultTable], layout: Layout) -> list[list[ResultTable]]:
    """The tables, as many together as a page holds: of sections one after the other, otherwise dataset by dataset."""
    if layout is sections:
        units = [[one_way(table, way)] for table in tables for way in ways([table])]
    else:
        units = list(by_dataset(tables).values())
    made = units[:1]
    for unit in units[1:]:
        if layout([*made[-1], *unit]).too_large:
            made.append(unit)
        else:
            made[-1] = [*made[-1], *unit]
    return made


def _environment(tables: Sequence[ResultTable], at: int, count: int) -> str:
    grid = LAYOUTS[tables[0].name](tables)
    fit = grid.fit()
    about = [line for table in tables for line in (title(table), *table.notes)]
    part, number = (f", part {at} of {count}", f"-{at}") if count > 1 else ("", "")
    return "\n".join(
        [
            *(f"% {' '.join(line.split())}" for line in dict.fromkeys(about)),
            rf"\begin{{{fit.environment}}}[t]",
            r"\centering",
            fit.size,
            rf"\setlength{{\tabcolsep}}{{{fit.space}pt}}",
            rf"\caption{{{_caption(tables)}{part}.}}",
            rf"\label{{{_label(tables)}{number}}}",
            f"{SCALED}{{{grid}}}" if grid.width(fit) > fit.room else str(grid),
            r"\par\smallskip",
            rf"{{\footnotesize\raggedright {' '.join(_notes(tables))}\par}}",
            rf"\end{{{fit.environment}}}",
        ]
    )


def _caption(tables: Sequence[ResultTable]) -> str:
    """What stands in the table, from the names of what was run."""
    models, datasets = _listed(table.model for table in tables), _listed(table.dataset for table in tables)
    protocols = _listed(table.protocol for table in tables)
    return f"{escape(tables[0].title)}: {models} on {datasets} (protocol: {protocols})"


def _listed(names: Iterator[str]) -> str:
    """Different names as a sentence has them: with commas, and an and before the last."""
    *most, last = dict.fromkeys(escape(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _label(tables: Sequence[ResultTable]) -> str:
    names = dict.fromkeys(name for table in tables for name in (table.dataset, table.model))
    parts = (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in (tables[0].name, *names))
    return "tab:" + "-".join(part for part in parts if part)


def _notes(tables: Sequence[ResultTable]) -> Iterator[str]:
    """What a reader must know beside the numbers, in short sentences."""
    kind, rows = tables[0].name, [row for table in tables for row in table.rows]
    test, among = rf"{shown(kind, 'R@1')} (exact McNemar, Holm, 5\,\%)", SAME.get(kind, "model and dataset")
    beaten = {letter for row in rows for each in row.standing.values() for letter in each.beats}
    if beaten:
        letters = {each.letter: plain_name(row) for row in rows for each in row.standing.values()}
        names = ", ".join(f"{letter}~{name}" for letter, name in sorted(letters.items()) if letter in beaten)
        yield f"Superscripts: rows of the same {among} that a row beats at {test}; {names}."
        if kind == "banks" and any(
            each.beats for row in rows if row.method == "none" for each in row.standing.values()
        ):
            yield "Those of no correction hold for every bank."
    elif any("R@1" in table.metrics for table in tables):
        yield f"No row beats another of the same {among} at {test}."
    if any(row.transductive for row in rows):
        who = "; ".join(dict.fromkeys(shared(table) for table in tables if any(row.transductive for row in table.rows)))
        yield rf"{DAGGER}Transductive: {escape(who)} in the bank; no deployed system has them in advance."
    done = (each for table in tables for block in table.blocks for each in block.evaluations.values())
    yield f"Ties: {_listed(str(each.settings['ties']) for each in done)}{LEFT_OUT if kind == 'variants' else ''}."
    yield f"Bold: best of the {'section' if kind in SAME else 'dataset'}."
