"""ResultTables of one kind as one LaTeX table, in one of the paper's three layouts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from unhub.experiments.result import SPARSITY, ResultTable, Row, metric_title
from unhub.foundation.errors import InputError
from unhub.foundation.tables import escape
from unhub.reports.latex_cells import (
    DAGGER,
    Cell,
    Grid,
    Line,
    Mark,
    direction,
    heading,
    marked,
    method,
    row_name,
    rules,
)
from unhub.reports.result_tables import shared, title

RULE = r"\midrule"


def side_by_side(tables: Sequence[ResultTable]) -> Grid:
    """Datasets, their directions and metrics from left to right; models with their methods below each other."""
    kind = tables[0].name
    same = by_dataset(tables)
    columns = [(data, way, name) for data, those in same.items() for way in ways(those) for name in metrics(those)]
    levels = [[Cell(heading(kind, name)) for *_, name in columns]]
    if kind == "query-aware":
        levels.insert(0, _spans((direction(way), (data, way)) for data, way, _ in columns))
    if kind != "classification" or len(same) > 1:
        levels.insert(0, _spans((escape(data), data) for data, *_ in columns))
    lines = list(_header(("Method", "Normalization" if kind == "classification" else "Norm"), levels))
    marks = {data: marked(those) for data, those in same.items()}
    for group in _groups(tables):
        lines.append(RULE)
        lines += _model(group, columns, marks)
    return Grid("ll" + "c" * len(columns), lines)


def sections(tables: Sequence[ResultTable]) -> Grid:
    """A section for each table and direction under its name; banks, if any, in the first column."""
    kind, names = tables[0].name, metrics(tables)
    first = [r"$B_q$ \& $B_t$"] if kind == "banks" else []
    titles = [*first, "Normalization", *(heading(kind, name, up=True) for name in names)]
    lines: list[Line] = [[Cell(title) for title in titles]]
    for table in tables:
        mark = marked([table])
        for way in ways([table]):
            title = rf"\textbf{{{escape(table.model)} on {escape(table.dataset)}, {direction(way)}}}"
            lines += [RULE, [Cell(title, len(titles))]]
            for bank, rows in _banks(table, way) if kind == "banks" else [("", table.rows)]:
                lines.append(RULE)
                lines += _section(rows, [bank] if first else [], way, names, mark)
    return Grid("l" * (len(first) + 1) + "c" * len(names), lines)


def methods_across(tables: Sequence[ResultTable]) -> Grid:
    """Datasets and their methods from left to right; a row for each metric, in a section for each direction."""
    same = by_dataset(tables)
    columns = [(table, row) for those in same.values() for table in those for row in table.rows]
    marks = {data: marked(those) for data, those in same.items()}
    over = _spans((escape(table.dataset), table.dataset) for table, _ in columns)
    titles = [escape(table.model) if row.method == "none" else method(row) for table, row in columns]
    lines: list[Line] = [[Cell(), *over], rules(over, 2), [Cell(), *map(Cell, titles)]]
    for at in range(max(len(ways([table])) for table in tables)):
        cells = [(table, row, "".join(ways([table])[at : at + 1])) for table, row in columns]
        lines += [RULE, [Cell(), *_spans((direction(way), (table.dataset, way)) for table, _, way in cells)]]
        for name in metrics(tables):
            values = (marks[table.dataset](row, way, name) for table, row, way in cells)
            lines.append([Cell(heading(tables[0].name, name)), *values])
    return Grid("l" + "c" * len(columns), lines)


def one_way(table: ResultTable, way: str) -> ResultTable:
    """The part of a table in one direction."""
    blocks = []
    for block in (block for block in table.blocks if way in block.evaluations):
        rows = (replace(row, values={way: row.values[way]}, tests={way: row.tests[way]}) for row in block.rows)
        blocks.append(replace(block, rows=tuple(rows), evaluations={way: block.evaluations[way]}))
    return replace(table, blocks=tuple(blocks))


def ways(tables: Iterable[ResultTable]) -> list[str]:
    """The directions of any row."""
    return list(dict.fromkeys(way for table in tables for row in table.rows for way in row.values))


def metrics(tables: Iterable[ResultTable]) -> list[str]:
    """The metrics of any table, sparsity last."""
    return sorted(dict.fromkeys(name for table in tables for name in table.metrics), key=lambda name: name == SPARSITY)


def by_dataset(tables: Iterable[ResultTable]) -> dict[str, list[ResultTable]]:
    """The tables of each dataset."""
    datasets: dict[str, list[ResultTable]] = {}
    for table in tables:
        datasets.setdefault(table.dataset, []).append(table)
    return datasets


def _groups(tables: Iterable[ResultTable]) -> list[dict[str, ResultTable]]:
    """The tables of each model by dataset; a model that was run twice on a dataset comes twice."""
    groups: dict[tuple[str, int], dict[str, ResultTable]] = {}
    for table in tables:
        again = sum(table.dataset in group for (model, _), group in groups.items() if model == table.model)
        groups.setdefault((table.model, again), {})[table.dataset] = table
    return list(groups.values())


def _model(
    group: dict[str, ResultTable], columns: Sequence[tuple[str, str, str]], marks: dict[str, Mark]
) -> Iterator[Line]:
    """The lines of a model: its name with no correction, then its methods."""
    rows = {data: {row.label: row for row in table.rows} for data, table in group.items()}
    every = {label: row for each in rows.values() for label, row in each.items()}
    for label, row in sorted(every.items(), key=lambda each: each[1].method != "none"):
        model = escape(next(iter(group.values())).model)
        first = [Cell(model, 2, "l")] if row.method == "none" else [Cell(), Cell(method(row))]
        yield [*first, *(marks[data](rows.get(data, {}).get(label), way, name) for data, way, name in columns)]


def _header(titles: Sequence[str], levels: Sequence[Sequence[Cell]]) -> Iterator[Line]:
    """Lines of titles with thin rules between; the titles of the first columns span all of them."""
    first = titles if len(levels) == 1 else [rf"\multirow{{{len(levels)}}}{{*}}{{{title}}}" for title in titles]
    for at, level in enumerate(levels):
        yield [*(Cell("" if at else title) for title in first), *level]
        if at < len(levels) - 1:
            yield rules(level, len(titles) + 1)


def _spans(titles: Iterable[tuple[str, object]]) -> list[Cell]:
    """One cell over all neighbours with the same key, from pairs of title and key."""
    groups = (list(group) for _, group in itertools.groupby(titles, key=lambda each: each[1]))
    return [Cell(group[0][0], len(group)) for group in groups]


def _banks(table: ResultTable, way: str) -> Iterator[tuple[str, Sequence[Row]]]:
    """No correction once, then the rows of each bank of the direction."""
    blocks = [block for block in table.blocks if way in block.evaluations]
    alone = [row for block in blocks for row in block.rows if row.method == "none"]
    beats = set.intersection(*(set(row.tests[way].beats) for row in alone))
    tests = replace(alone[0].tests[way], beats="".join(sorted(beats)))
    yield method(alone[0]), [replace(alone[0], tests={way: tests})]
    for block in blocks:
        yield escape(block.bank), [row for row in block.rows if row.method != "none"]


def _section(rows: Sequence[Row], bank: Sequence[str], way: str, names: Sequence[str], mark: Mark) -> Iterator[Line]:
    """The lines of a bank with its name in front, or of a table without banks."""
    beside = [rf"\multirow{{{len(rows)}}}{{*}}{{{each}}}" if len(rows) > 1 else each for each in bank]
    for at, row in enumerate(rows):
        first = [Cell("" if at else each) for each in beside]
        yield [*first, Cell(method(row, "+ " if bank else "")), *(mark(row, way, name) for name in names)]


Layout = Callable[[Sequence[ResultTable]], Grid]
LAYOUTS: Mapping[str, Layout] = {
    "query-aware": side_by_side, "self-retrieval": side_by_side, "classification": side_by_side,
    "banks": sections, "variants": sections, "skewness": methods_across,
}  # fmt: skip
SAME = {"banks": "bank", "variants": "section"}
"""among which rows letters compare; otherwise among those of a model on a dataset"""
SCALED = r"\resizebox{\textwidth}{!}"
LEFT_OUT = "; what a plan leaves out is tied"


def latex(tables: Sequence[ResultTable]) -> str:
    """One table with booktabs; its first line names the packages.

    The best of each dataset is bold, or of each section where a table has them. A table too large for a page is split.
    Titles and notes of the runs are comments on top, with the names before they were escaped.
    """
    kinds = list(dict.fromkeys(table.name for table in tables))
    if len(kinds) != 1:
        raise InputError(f"tables are of the kinds {', '.join(kinds) or 'none'}; give one or more, all of one kind.")
    parts = _parts(tables, LAYOUTS[kinds[0]])
    body = "\n\n".join(_environment(part, at, len(parts)) for at, part in enumerate(parts, start=1))
    return rf"% \usepackage{{booktabs,multirow{',graphicx' if SCALED in body else ''}}}" + f"\n{body}"


def _parts(tables: Sequence[ResultTable], layout: Layout) -> list[list[ResultTable]]:
    """The tables, as many together as fit on a page: section by section, or dataset by dataset."""
    if layout is sections:
        units = [[one_way(table, way)] for table in tables for way in ways([table])]
    else:
        units = list(by_dataset(tables).values())
    parts = units[:1]
    for unit in units[1:]:
        if layout([*parts[-1], *unit]).too_large:
            parts.append(unit)
        else:
            parts[-1] = [*parts[-1], *unit]
    return parts


def _environment(tables: Sequence[ResultTable], at: int, count: int) -> str:
    grid = LAYOUTS[tables[0].name](tables)
    fit = grid.fit()
    about = [line for table in tables for line in (title(table), *table.notes)]
    names = zip(*((table.model, table.dataset, table.protocol) for table in tables), strict=True)
    models, datasets, protocols = map(_listed, names)
    part, number = (f", part {at} of {count}", f"-{at}") if count > 1 else ("", "")
    lines = [
        *(f"% {' '.join(line.split())}" for line in dict.fromkeys(about)),
        rf"\begin{{{fit.environment}}}[t]",
        r"\centering",
        fit.size,
        rf"\setlength{{\tabcolsep}}{{{fit.space}pt}}",
        rf"\caption{{{escape(tables[0].title)}: {models} on {datasets} (protocol: {protocols}){part}.}}",
        rf"\label{{{_label(tables)}{number}}}",
        f"{SCALED}{{{grid}}}" if grid.width(fit) > fit.room else str(grid),
        r"\par\smallskip",
        rf"{{\footnotesize\raggedright {' '.join(_notes(tables))}\par}}",
        rf"\end{{{fit.environment}}}",
    ]
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    """The different names as a list in a sentence."""
    *most, last = dict.fromkeys(escape(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _label(tables: Sequence[ResultTable]) -> str:
    names = dict.fromkeys(name for table in tables for name in (table.dataset, table.model))
    parts = (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in (tables[0].name, *names))
    return "tab:" + "-".join(part for part in parts if part)


def _notes(tables: Sequence[ResultTable]) -> Iterator[str]:
    """What a reader must know about the numbers, in short sentences."""
    kind, rows = tables[0].name, [row for table in tables for row in table.rows]
    test, among = rf"{metric_title(kind, 'R@1')} (exact McNemar, Holm, 5\,\%)", SAME.get(kind, "model and dataset")
    beaten = {letter for row in rows for each in row.tests.values() for letter in each.beats}
    if beaten:
        letters = {each.letter: row_name(row) for row in rows for each in row.tests.values()}
        names = ", ".join(f"{letter}~{name}" for letter, name in sorted(letters.items()) if letter in beaten)
        yield f"Superscripts: rows of the same {among} that a row beats at {test}; {names}."
        if kind == "banks" and any(each.beats for row in rows if row.method == "none" for each in row.tests.values()):
            yield "Those of no correction hold for every bank."
    elif any("R@1" in table.metrics for table in tables):
        yield f"No row beats another of the same {among} at {test}."
    if any(row.transductive for row in rows):
        who = "; ".join(dict.fromkeys(shared(table) for table in tables if any(row.transductive for row in table.rows)))
        yield rf"{DAGGER}Transductive: {escape(who)} in the bank; no deployed system has them in advance."
    for sentence in dict.fromkeys(each for table in tables for each in table.strengths):
        yield f"{escape(sentence[0].upper() + sentence[1:])}."
    done = (each for table in tables for block in table.blocks for each in block.evaluations.values())
    yield f"Ties: {_listed(str(each.settings['ties']) for each in done)}{LEFT_OUT if kind == 'variants' else ''}."
    yield f"Bold: best of the {'section' if kind in SAME else 'dataset'}."
