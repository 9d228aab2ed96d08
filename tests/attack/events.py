"""File-system events of a process, counted, and the process killed before the n-th of them.

Python tells of most of them itself (PEP 578 audit events); fsync, which it does not tell of, is wrapped. Only events
inside one folder count, so that what the interpreter does for itself is no kill point.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Events:
    """Counts the events of this process below a folder; SIGKILL before number ``kill_at`` (from 1), if given."""

    def __init__(self, folder: Path, kill_at: int | None = None) -> None:
        self.folder, self.kill_at, self.names = os.path.realpath(folder), kill_at, list[str]()
        self._fsync = os.fsync

    def install(self) -> None:
        """Begins to count; there is no way back, so this is for a process that ends soon."""
        os.fsync = self._wrapped
        sys.addaudithook(self._heard)

    def _wrapped(self, handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        self._happens("os.fsync", os.readlink(f"/proc/self/fd/{number}"))
        self._fsync(handle)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self._happens(event, path)
        elif event in _CHANGES:
            self._happens(event, arguments[0])

    def _happens(self, event: str, path: Any) -> None:
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        if not isinstance(path, str | bytes | os.PathLike):
            return
        place = os.path.abspath(os.fsdecode(path))
        if not place.startswith(self.folder):
            return
        self.names.append(f"{event} {place[len(self.folder) + 1 :]}")
        if len(self.names) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
