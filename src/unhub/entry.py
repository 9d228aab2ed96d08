"""Where the command begins: what it needs is loaded here, so that Ctrl-C is answered while that takes its time."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Runs the command line and gives back its exit code."""
    try:
        from unhub.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("unhub: interrupted\n")
        return INTERRUPTED
    return run()
