"""What tells a file from another one, and from itself after a change."""

from __future__ import annotations

import os
from typing import NamedTuple


class Stamp(NamedTuple):
    """Which file it is on this machine, its bytes, and the time of its last change.

    The inode's own time is left out: a hard link changes it.
    """

    device: int
    inode: int
    size: int
    changed: int

    @property
    def file(self) -> tuple[int, int]:
        """Which file it is, whatever is in it; another machine may number the same file differently."""
        return self.device, self.inode

    @property
    def version(self) -> tuple[int, int]:
        """What is in it, as far as size and time tell; this is the same on every machine."""
        return self.size, self.changed


def stamp_of(facts: os.stat_result) -> Stamp:
    """The stamp of a file that was asked for its facts."""
    return Stamp(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def stamp_at(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of the file that is at a path now."""
    return stamp_of(os.stat(path))
