"""Rows as text."""

from __future__ import annotations

from typing import NamedTuple

from running import Row

WIDTH = 38


class Scores(NamedTuple):
    """How near a contender came to float64: the largest error of its bias, and the overlap of the top 10."""

    error: float | None
    overlap: float | None


def megabytes(size: int) -> str:
    """Bytes in millions."""
    return f"{size / 1e6:,.0f} MB"


def footnotes(rows: list[Row]) -> dict[str, int]:
    """remark -> its number, in the order in which they appear."""
    remarks = dict.fromkeys(row.remark for row in rows if row.remark)
    return {remark: number for number, remark in enumerate(remarks, start=1)}


def print_rows(rows: list[Row], scores: dict[str, Scores]) -> None:
    """The table of one shape, with footnotes and with what the fits said about themselves."""
    numbers = footnotes(rows)
    print(f"\n{rows[0].shape}\n")
    print(f"{'':{WIDTH}}{'seconds':>9}{'x product':>11}{'memory':>12}{'error':>10}{'top 10':>9}")
    for row in rows:
        title = row.title + (f" [{numbers[row.remark]}]" if row.remark else "")
        print(f"{title:{WIDTH}}" + _values(row, scores[row.key]))
    for remark, number in numbers.items():
        print(f"  [{number}] {remark}")
    for row in rows:
        for sentence in _sentences(row):
            print(f"  {row.title}: {sentence}", flush=True)


def _values(row: Row, score: Scores) -> str:
    if row.measured is None:
        return f"   {row.failure}"
    error = "-" if score.error is None else f"{score.error:.1e}"
    agreement = "-" if score.overlap is None else f"{score.overlap:.4f}"
    seen = row.measured
    mark = "~" if row.disturbed else " "
    return f"{seen.seconds:9.3f}{row.ratio:10.2f}{mark}{megabytes(seen.extra_bytes):>12}{error:>10}{agreement:>9}"


def _sentences(row: Row) -> list[str]:
    """What else is to be said of a row: against its rival, and its own plan."""
    said = []
    if row.measured is not None and row.measured.rival is not None:
        said.append(f"{row.measured.seconds / row.measured.rival:.2f} x what is beside it")
    return said + ([row.note] if row.note else [])


def print_bounds(rows: list[tuple[Row, int]]) -> None:
    """Memory of bounded fits beside what they may take."""
    if not rows:
        return
    print(f"\n{rows[0][0].title}: extra memory and what it may be\n")
    for row, allowed in rows:
        if row.measured is None:
            print(f"{row.shape!s:{WIDTH}}   {row.failure}")
            continue
        verdict = "within" if row.measured.extra_bytes <= allowed else "ABOVE"
        print(f"{row.shape!s:{WIDTH}}{megabytes(row.measured.extra_bytes):>9}{megabytes(allowed):>9}  {verdict}")
