"""The errors that unhub raises on purpose: each is one sentence that says what came, where, and what to do."""

from __future__ import annotations


class UnhubError(Exception):
    """Any error that unhub raises on purpose."""


class InputError(UnhubError, ValueError):
    """Input that cannot be used: the message names the argument, what came and what to do."""


class MissingDependencyError(UnhubError, ImportError):
    """An optional package is not installed: the message has the pip command."""


class StoreError(UnhubError):
    """A vector store that does not answer, or not as it should: the message names it, what it said and what to do."""


class UnhubWarning(UserWarning):
    """Something that works but is probably not what was meant."""
