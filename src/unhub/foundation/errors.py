"""The errors that unhub raises on purpose: each is one sentence that says what came, where, and what to do."""

from __future__ import annotations

from unhub.foundation.printable import printable


class UnhubError(Exception):
    """Any error that unhub raises on purpose; what is not printable in its sentence is escaped."""

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(UnhubError, ValueError):
    """Input that cannot be used: the message names the argument, what came and what to do."""


class MissingDependencyError(UnhubError, ImportError):
    """An optional package is not installed: the message has the pip command."""


class StoreError(UnhubError):
    """A vector store that does not answer, or not as it should: the message names it, what it said and what to do."""


class UnhubWarning(UserWarning):
    """Something that works but is probably not what was meant."""
