"""A ResultTable as text to paste: plain, Markdown, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from unhub.experiments.result import SPARSITY, ResultTable, Row
from unhub.experiments.standing import Standing
from unhub.metrics import metric

BADGE = "transductive"
TIES = {"optimistic": "equal scores count for the query", "average": "equal scores share their ranks"}
NAMES = {
    "none": "none", "is": "+IS", "dis": "+DIS", "dualis": "+DualIS", "dualdis": "+DualDIS", "sn": "+SN",
    "dbsn": "+DBSN", "otn": "+OTN", "l2n": "+L2N", "hn": "+HN", "sparse_k(k=1)": "+M1N", "sparse_k(k=5)": "+M5N",
}  # fmt: skip
"""what the paper calls the rows"""


def grid(table: ResultTable) -> tuple[list[str], list[list[str]], set[tuple[int, int]]]:
    """Titles, lines, and which cells of the lines are the best of their column."""
    lines = [[*_names(row), *_cells(table, row, at)] for at, row in enumerate(table.rows)]
    best = {(at, 2 + to) for to, column in enumerate(_columns(table)) for at in table.best(*column)}
    return _header(table), lines, best


def plain(table: ResultTable) -> str:
    """Aligned columns; a letter behind a name, and behind R@1 the letters of the rows it beats beyond chance."""
    titles, rows, _ = grid(table)
    lines = [titles, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["  ".join(_aligned(line, widths)) for line in lines]
    rule = "-" * len(text[0])
    return "\n".join([title(table), text[0].rstrip(), rule, *(each.rstrip() for each in text[1:]), *notes(table, "  ")])


def markdown(table: ResultTable) -> str:
    """A Markdown table, the best of each column bold."""
    lines = [_header(table), ["---", "---", *("---:" for _ in _columns(table))]]
    lines += [[*_names(row), *_cells(table, row, at, bold="**{}**")] for at, row in enumerate(table.rows)]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([f"**{title(table)}**", "", body, "", *(f"*{note}*  " for note in notes(table, ""))]).rstrip()


def csv_lines(table: ResultTable) -> str:
    """One line for each row, direction and metric, with its interval and its settings."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(
        ["table", "dataset", "model", "protocol", "direction", "bank", "method", "metric", "value", "low", "high",
         "beats", "wins", "ties", "losses", "gain", "gain_low", "gain_high", "transductive", "settings"]
    )  # fmt: skip
    for row in table.rows:
        for direction, name in _columns(table):
            if name not in row.values.get(direction, {}):
                continue
            low, high = row.intervals[direction].get(name, ("", ""))
            standing = row.standing[direction]
            paired = standing.gain if name == "R@1" else None
            gain = ("", "", "") if paired is None else (paired.value, paired.low, paired.high)
            settings = " ".join(f"{key}={value}" for key, value in row.settings[direction].items())
            writer.writerow(
                [table.name, table.dataset, table.model, table.protocol, direction, row.bank, row.label, name,
                 row.values[direction][name], low, high, standing.beats, standing.wins, standing.ties, standing.losses,
                 *gain, row.transductive, settings]
            )  # fmt: skip
    return sink.getvalue()


def title(table: ResultTable) -> str:
    """What a table is about, in one line."""
    return f"{table.title}: {table.dataset}, {table.model} (protocol: {table.protocol})"


def _columns(table: ResultTable) -> list[tuple[str, str]]:
    return [(direction, name) for direction in table.directions for name in table.metrics]


def _header(table: ResultTable) -> list[str]:
    many = len(table.directions) > 1
    named = ((way, shown(table.name, name)) for way, name in _columns(table))
    return ["method", "bank", *(f"{way} {name}" if many else name for way, name in named)]


def _names(row: Row) -> list[str]:
    """The name of a row with its letter, and its bank."""
    standing = next(iter(row.standing.values()))
    bank = "-" if row.method == "none" else f"{row.bank} ({BADGE})" if row.transductive else row.bank
    return [f"{NAMES.get(row.label, row.label)} ({standing.letter})", bank]


def _cells(table: ResultTable, row: Row, at: int, *, bold: str = "{}") -> list[str]:
    made = []
    for direction, name in _columns(table):
        values = row.values.get(direction, {})
        text = number(name, values[name]) if name in values else "-"
        if at in table.best(direction, name):
            text = bold.format(text)
        beats = row.standing[direction].beats if direction in row.standing and name == "R@1" else ""
        made.append(f"{text} {beats}".rstrip())
    return made


def shown(table: str, name: str) -> str:
    """What a table calls a metric: R@k where one class is right is its accuracy.

    >>> shown("classification", "R@5"), shown("query-aware", "R@5")
    ('acc@5', 'R@5')
    """
    return re.sub(r"^R@", "acc@", name) if table == "classification" else name


def number(name: str, value: float) -> str:
    """A value with as many digits as the paper gives it."""
    if name == SPARSITY:
        return f"{value:.3f}"
    return f"{value:.1f}" if name in ("MdR", "MnR") or metric(name).percent else f"{value:.2f}"


def _aligned(line: list[str], widths: list[int]) -> Iterator[str]:
    for at, (text, width) in enumerate(zip(line, widths, strict=True)):
        yield text.ljust(width) if at < 2 else text.rjust(width)


def notes(table: ResultTable, indent: str) -> list[str]:
    """What stands below a table: what its letters and badge mean, how each row does against none, and warnings."""
    first = shown(table.name, "R@1")
    said = [f"letters: rows that a row beats at {first} (exact McNemar, Holm over all pairs of its block, 5 %)"]
    if any(row.transductive for row in table.rows):
        said.append(f"{BADGE}: {shared(table)} in the bank; no deployed system has them in advance")
    if table.name != "variants":  # which says more about them
        said.append(f"ties: {ties(table)}")
    said.append(f"against none: queries ranked better / as well / worse, and what {first} gains (paired, 95 %)")
    for row in table.rows:
        if row.method != "none":
            against = "; ".join(f"{way} {_against(each)}" for way, each in row.standing.items())
            said.append(f"{NAMES.get(row.label, row.label)}, {row.bank}: {against}")
    return [f"{indent}{note}" for note in (*said, *table.notes)]


def ties(table: ResultTable) -> str:
    """How equal scores rank in a table."""
    used = dict.fromkeys(str(each.settings["ties"]) for block in table.blocks for each in block.evaluations.values())
    return ", ".join(f"{each} ({TIES[each]})" if each in TIES else each for each in used)


def shared(table: ResultTable) -> str:
    """How many of the test queries are in the bank: all where they are the bank, otherwise those that were found."""
    found = [
        (block.bank.partition(" & ")[0], way, each.settings["test_queries_in_bank"], each.settings["queries"])
        for block in table.blocks
        for way, each in block.evaluations.items()
        if each.settings["test_queries_in_bank"]
    ]
    if not found:
        return "the test queries are"
    some = dict.fromkeys(f"{bank} {way} {count:,} of {queries:,}" for bank, way, count, queries in found)
    return f"test queries ({', '.join(some)}) are"


def _against(standing: Standing) -> str:
    text = f"{standing.wins} / {standing.ties} / {standing.losses}"
    if standing.gain is None:
        return text
    return f"{text}, {standing.gain.value:+.1f} [{standing.gain.low:+.1f}, {standing.gain.high:+.1f}]"
