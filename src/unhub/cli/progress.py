"""A progress bar for work that lasts: on stderr, on a terminal, after the first second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unhub.foundation.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

Progress = Callable[[str, int, int], None]

PATIENCE = 1.0
"""seconds of silence before a bar appears"""

ROWS = 1000
"""from so many on, what is counted are rows"""


@contextmanager
def working(what: str) -> Iterator[Progress | None]:
    """A callback for a façade's ``progress``; None where nobody would see the bar."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what)
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    """Counts from the start, shows itself from a timer's thread, and vanishes when the work ends."""

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
        """How far the work has come."""
        with self._lock:
            what = printable(what)
            self._state = (what, done, total)
            if self._shown is not None:
                progress, task = self._shown
                progress.update(task, description=what, completed=done, total=total, rate=self._rate(done, total))

    def _rate(self, done: int, total: int | None) -> str:
        """Rows a second since the start, in words; nothing where a few steps are counted."""
        if total is None or total < ROWS:
            return ""
        rate = done / max(time.monotonic() - self._began, 1e-9)
        return f"{rate:,.0f} rows/s" if done else ""

    def stop(self) -> None:
        """Takes the bar away."""
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
            progress = RichProgress(
                *columns, *ends, console=Console(stderr=True), transient=True, redirect_stdout=False
            )
            what, done, total = self._state
            task = progress.add_task(what, completed=done, total=total, rate=self._rate(done, total))
            progress.start()
            self._shown = (progress, task)
