"""Where the command begins: what it needs is loaded here, so that Ctrl-C is answered while that takes its time."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

INTERRUPTED = 130


def main() -> int:
    """Runs the command line and gives back its exit code."""
    _fill_closed_places()
    try:
        from unhub.cli import main as run
    except KeyboardInterrupt:
        with suppress(OSError, AttributeError):  # stderr is full, or closed
            sys.stderr.write("unhub: interrupted\n")
        return INTERRUPTED
    return run()


def _fill_closed_places() -> None:
    """Opens nothing where stdin, stdout or stderr is closed.

    The next file that is opened would take its place, and whatever prints there would write into that file.
    """
    for place in range(3):
        try:
            os.fstat(place)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
