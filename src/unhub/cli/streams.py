"""stdout and stderr while a command runs: they may be closed, full, or read by somebody who leaves early.

None of that ends the work: a file that was asked for with -o is still written, complete. What cannot be printed is
dropped, and the command says so when it ends, unless the reader chose to leave.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class LastingStream:
    """A text stream whose writes never fail; ``fault`` is the first error that they met."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.fault: OSError | None = None
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # what its encoding lacks is written as an escape

    def write(self, text: str) -> int:
        """Writes the text, or drops it."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Passes on what was written."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)  # nobody writes past us
        return getattr(self._stream, name)

    def _lose(self, error: OSError) -> None:
        """Nobody can take this: it goes nowhere from now on, with what is buffered."""
        self.fault = self.fault or error
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            self._stream.flush()


@contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """A block in which stdout and stderr can always be written to; gives stdout."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out, err = (LastingStream(nowhere if stream is None else stream) for stream in before)
        sys.stdout, sys.stderr = out, err
        try:
            yield out
        finally:
            out.flush()
            err.flush()
            sys.stdout, sys.stderr = before


def lost_output(stream: LastingStream) -> OSError | None:
    """The error that kept output from whoever waits for it; None if all was taken, or the reader had seen enough."""
    stream.flush()
    return None if stream.fault is None or stream.fault.errno == errno.EPIPE else stream.fault
