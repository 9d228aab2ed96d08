"""Output: plain text in a pipe, tables and progress bars on a terminal, JSON on request, notes on stderr."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unhub.foundation.errors import UnhubWarning
from unhub.foundation.safe_text import printable as printable
from unhub.foundation.tables import Table, aligned, text
from unhub.foundation.wording import on_command_line, spoken

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

Progress = Callable[[str, int, int], None]
"""(task, done, total)"""

SCHEMA_VERSION = 1
"""of the JSON that commands print"""

PATIENCE = 1.0
"""seconds before a progress bar appears"""

ROWS = 1000
"""totals from which on the bar shows rows per second"""

FLAGS = {
    "browser": "--open",
    "column_ids": "--target-ids",
    "error": "--certify",
    "form": "--format",
    "new_targets": "--targets",
    "out": "-o",
    "output": "-o",
    "which": "--method",
}
"""arguments whose flag has another name"""
SITUATIONS = {("own_log", "True"): "--popularity own_log", ("target_prior", "clicks"): "--popularity clicks"}
"""arguments with a value that is a popularity on the command line"""

_UNSEEN = re.compile(r"[^\n -~]")
"""in a text of JSON: characters that may not be printable"""


def as_flag(name: str, value: str | None) -> str:
    """An argument as the command line names it.

    >>> as_flag("which", "sn"), as_flag("query_bank", None), as_flag("own_log", "True")
    ('--method sn', '--query-bank', '--popularity own_log')
    """
    if value is not None and (name, value) in SITUATIONS:
        return SITUATIONS[name, value]
    if name not in FLAGS:
        return on_command_line(name, value)
    return FLAGS[name] if value in (None, "True") else f"{FLAGS[name]} {value}"


def in_flags(text: str) -> str:
    """A note of a result with its arguments as flags."""
    return spoken(text, as_flag)


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def say(text: str = "", *, style: str | None = None) -> None:
    """Print a line, unprintable characters escaped; the style shows on a terminal only."""
    text = printable(text)
    if style is None or not on_terminal():
        exactly(text)
        return
    from rich.console import Console

    Console(highlight=False, emoji=False, markup=False).print(text, style=style, soft_wrap=True)


def lines(text: str) -> None:
    """Print a text of several lines."""
    for line in text.split("\n"):
        say(line)


def exactly(text: str) -> None:
    """Print text for a program to read, as it is."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """Print one line on stderr that begins with the program's name."""
    sys.stderr.write(f"unhub: {printable(' '.join(text.split()))}\n")
    sys.stderr.flush()


def data(value: Mapping[str, Any]) -> None:
    """Print JSON with a schema version; numbers that are not finite are null, unprintable characters escapes."""
    text = as_json(
        {"schema_version": SCHEMA_VERSION, **value}, ascii_only="utf" not in (sys.stdout.encoding or "").lower()
    )
    exactly(_UNSEEN.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text))


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    """Plain data as strict JSON."""
    from unhub.foundation.regular_files import json_safe

    return json.dumps(json_safe(value), indent=2, ensure_ascii=ascii_only, allow_nan=False)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    strong: Collection[tuple[int, int]] = (),
) -> None:
    """A table: aligned text in a pipe, with colours on a terminal.

    left: the columns of words; the others are numbers and stand at the right. strong: (row, column) of the best cells.
    """
    cells = [[printable(cell) for cell in row] for row in (columns, *rows)]
    if on_terminal():
        _rich_table(cells[0], cells[1:], left, strong)
        return
    for line in aligned(cells, left):
        say(line)


def show_table(shown: Table) -> None:
    """A table with its title and its notes; on a terminal the best of each column is coloured."""
    if not on_terminal():
        lines(text(shown))
        return
    if shown.title:
        say(shown.title, style="bold")
    best = {(at, to) for at, row in enumerate(shown.rows) for to, cell in enumerate(row) if cell.best}
    table(shown.columns, [[str(cell) for cell in row] for row in shown.rows], left=shown.left, strong=best)
    for note in shown.notes:
        say(f"  {note}", style="dim")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """A block in which each warning of unhub becomes a line on stderr that begins with ``unhub: note:``."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        complain(f"note: {message.sentence(as_flag) if isinstance(message, UnhubWarning) else message}")

    before, filters = warnings.showwarning, list(warnings.filters)
    warnings.simplefilter("always", UnhubWarning)
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
        warnings.resetwarnings()
        warnings.filters.extend(filters)  # type: ignore[attr-defined]


def _rich_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int], strong: Collection[tuple[int, int]]
) -> None:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False, emoji=False, markup=False)
    drawn = RichTable(box=None, header_style="bold cyan", pad_edge=False, padding=(0, 1))
    for at, title in enumerate(titles):
        drawn.add_column(Text(title), justify="left" if at in left else "right", no_wrap=True)
    for at, row in enumerate(rows):
        drawn.add_row(*(Text(text, "bold green" if (at, to) in strong else "") for to, text in enumerate(row)))
    wide = Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum
    console.width = max(console.width, wide)  # a narrow terminal breaks the line; cutting it would lose numbers
    console.print(drawn)


@contextmanager
def working(task: str) -> Iterator[Progress | None]:
    """A ``progress`` callback that draws a bar on stderr; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(task)
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    """A progress bar that appears after a second, from a timer thread, and disappears at the end."""

    def __init__(self, what: str) -> None:
        self._lock = threading.Lock()
        self._state: tuple[str, int, int | None] = (what, 0, None)
        self._shown: tuple[RichProgress, TaskID] | None = None
        self._ended = False
        self._began = time.monotonic()
        self._timer = threading.Timer(PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def update(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        with self._lock:
            what = printable(what)
            self._state = (what, done, total)
            if self._shown is not None:
                progress, task = self._shown
                progress.update(task, description=what, completed=done, total=total, rate=self._rate(done, total))

    def _rate(self, done: int, total: int | None) -> str:
        """Rows per second since the start; empty where steps are few."""
        if total is None or total < ROWS:
            return ""
        rate = done / max(time.monotonic() - self._began, 1e-9)
        return f"{rate:,.0f} rows/s" if done else ""

    def stop(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._shown is not None:
                self._shown[0].stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        with self._lock:
            if self._ended:
                return
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
            )
            ends = (TextColumn("{task.fields[rate]}"), TimeRemainingColumn(compact=True))
            shown: dict[str, Any] = {"console": Console(stderr=True), "transient": True, "redirect_stdout": False}
            progress = RichProgress(*columns, *ends, **shown)
            what, done, total = self._state
            task = progress.add_task(what, completed=done, total=total, rate=self._rate(done, total))
            progress.start()
            self._shown = (progress, task)
