"""A client's exceptions as one sentence: which store, what it said, what to do; nothing secret in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from unhub.foundation.errors import StoreError, UnhubError
from unhub.stores.address import Address

_LONGEST = 240
_GONE = (
    "connection refused", "connection reset", "connection aborted", "connection closed", "server closed the connection",
    "connection is lost", "connection is closed", "unavailable", "timed out", "timeout", "deadline exceeded",
    "disconnected", "could not connect", "failed to connect", "failed connecting", "connection failed",
    "connect call failed", "broken pipe", "all connection attempts failed", "name or service not known",
    "shutting down", "terminating connection", "retry limit", "is the server running",
)  # fmt: skip
_DENIED = (
    "no password supplied", "password authentication", "authentication failed", "unauthorized", "unauthenticated",
    "not authorized", "forbidden", "invalid api key", "invalid token", "must provide an api key",
)  # fmt: skip
_FULL = ("no space left", "disk is full", "disk full", "could not extend file", "enospc")


@contextmanager
def guarded(address: Address, doing: str) -> Iterator[None]:
    """Turns whatever a client raises inside into a StoreError that says where, what, and what to do.

    ``doing`` completes "qdrant://localhost/photos ...": such as "cannot be read".
    """
    try:
        yield
    except (UnhubError, GeneratorExit):
        raise
    except Exception as error:
        told = StoreError(sentence(address, doing, error))
        raise told from (None if address.has_secrets else error)  # a client's own words might show them


def sentence(address: Address, doing: str, error: BaseException) -> str:
    """What to tell of a client's exception."""
    said = _short(address.hide(" ".join(str(error).split()).rstrip(".")) or type(error).__name__)
    folded = f"{type(error).__name__} {said}".casefold()
    if any(mark in folded for mark in _FULL):
        advice = "the disk is full there: free some space, then run the same again; what was written is kept"
    elif any(mark in folded for mark in _DENIED):
        advice = "give the user and the password or key, in the address or in the environment"
    elif isinstance(error, ConnectionError | TimeoutError) or any(mark in folded for mark in _GONE):
        advice = "see that the store runs and can be reached, then run the same again"
    elif "search" in doing:
        advice = "see that the filter, the name and the rights are as they should be"
    else:
        advice = "see that the address, the name and the rights are as they should be"
    return f"{address} {doing} ({said}); {advice}."


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
