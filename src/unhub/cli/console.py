"""What a person or a program sees: plain text in a pipe, tables on a terminal, JSON when asked, notes on stderr."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from unhub.foundation.printable import printable as printable

_UNSEEN = re.compile(r"[^\n -~]")
"""in a text of JSON: what may be a character that is not seen as itself"""


def on_terminal() -> bool:
    """Whether stdout is a terminal, where colours and boxes are welcome."""
    return sys.stdout.isatty()


def say(text: str = "", *, style: str | None = None) -> None:
    """A line on stdout, what is not printable in it escaped; the style shows on a terminal only."""
    text = printable(text)
    if style is None or not on_terminal():
        exactly(text)
        return
    from rich.console import Console

    Console(highlight=False, emoji=False, markup=False).print(text, style=style, soft_wrap=True)


def lines(text: str) -> None:
    """Several lines on stdout: a text that we have broken ourselves."""
    for line in text.split("\n"):
        say(line)


def exactly(text: str) -> None:
    """Text on stdout for a program that reads it, just as it is."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """One line on stderr that begins with the name of the program."""
    sys.stderr.write(f"unhub: {printable(' '.join(text.split()))}\n")
    sys.stderr.flush()


def data(value: Any) -> None:
    """JSON on stdout; a number that is not finite becomes null, which every reader takes.

    What is not printable is written as JSON's own escape: the data are the same, and a terminal is safe.
    """
    text = as_json(value, ascii_only="utf" not in (sys.stdout.encoding or "").lower())
    exactly(_UNSEEN.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text))


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    """The text of plain data, strictly JSON."""
    from unhub.foundation.plain_data import finite

    return json.dumps(finite(value), indent=2, ensure_ascii=ascii_only, allow_nan=False)


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    strong: Collection[tuple[int, int]] = (),
) -> None:
    """A table: aligned text in a pipe, with colours on a terminal.

    left: the columns of words; the others are numbers and stand at the right. strong: (row, column) to be stressed.
    """
    titles, *cells = ([printable(cell) for cell in row] for row in (titles, *rows))
    if on_terminal():
        _rich_table(titles, cells, left, strong)
        return
    widths = [max(len(line[at]) for line in (titles, *cells)) for at in range(len(titles))]
    for line in (titles, *cells):
        padded = [
            text.ljust(width) if at in left else text.rjust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        say("  ".join(padded).rstrip())


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """A block in which warnings become lines on stderr that begin with ``unhub: note:``."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        complain(f"note: {message}")

    with warnings.catch_warnings():
        from unhub.foundation.errors import UnhubWarning

        warnings.simplefilter("always", UnhubWarning)
        warnings.showwarning = show
        yield


def _rich_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int], strong: Collection[tuple[int, int]]
) -> None:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, emoji=False, markup=False)
    drawn = Table(box=None, header_style="bold cyan", pad_edge=False, padding=(0, 1))
    for at, title in enumerate(titles):
        drawn.add_column(Text(title), justify="left" if at in left else "right", no_wrap=True)
    for at, row in enumerate(rows):
        drawn.add_row(*(Text(text, "bold green" if (at, to) in strong else "") for to, text in enumerate(row)))
    wide = Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum
    console.width = max(console.width, wide)  # a narrow terminal breaks the line; cutting it would lose numbers
    console.print(drawn)
