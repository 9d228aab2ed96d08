"""``python -m unhub`` and the ``unhub`` command. The command line is imported here, so that Ctrl-C works meanwhile."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns its exit code."""
    _fill_closed_descriptors()
    try:
        from unhub.cli import main as run
    except KeyboardInterrupt:
        with suppress(OSError, AttributeError):  # stderr is full or closed
            sys.stderr.write("unhub: interrupted\n")
        return INTERRUPTED
    return run()


def _fill_closed_descriptors() -> None:
    """Open /dev/null where stdin, stdout or stderr is closed; the next file opened would receive what is printed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


if __name__ == "__main__":
    sys.exit(main())
