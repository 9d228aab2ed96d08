"""Readers fail in a hundred ways on a damaged file; here they all become one kind of sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from unhub.foundation.errors import InputError, UnhubError
from unhub.io.address import Address

_REASON_LENGTH = 160  # characters of the reader's own words that still help
_HDF5_TRUNCATED = re.compile(r"truncated file: eof = (\d+), .*stored_eof = (\d+)")


@contextmanager
def guarded(address: Address, label: str) -> Iterator[None]:
    """A block in which any failure of a reader becomes an ``InputError`` about the file.

    Errors of unhub pass through, and so does what is not an error (an interrupt).
    """
    try:
        yield
    except UnhubError:
        raise
    except PermissionError as error:
        raise address.problem("cannot be opened: permission denied; change its mode or its owner.") from error
    except RecursionError as error:
        raise address.problem(f"is nested too deeply to be read as {label}; write a plain list or table.") from error
    except MemoryError as error:
        raise address.problem(
            f"cannot be read as {label}: it is damaged or does not fit in memory; "
            "convert it to .npy, which is read in blocks."
        ) from error
    except Exception as error:  # a damaged file can make a reader raise anything at all
        raise damaged(address, label, error) from error


def cut_short(address: Address, *, expected: int, found: int) -> InputError:
    """The error for a file whose own header promises more bytes than there are."""
    return address.problem(f"is cut short: {expected:,} bytes expected but {found:,} found; write or copy it again.")


def damaged(address: Address, label: str, error: Exception) -> InputError:
    """The error for a file that its reader does not understand, with the reader's reason."""
    truncated = _HDF5_TRUNCATED.search(str(error))
    if truncated:
        return cut_short(address, expected=int(truncated[2]), found=int(truncated[1]))
    lines = str(error).strip().splitlines()
    reason = lines[0].strip().rstrip(".")[:_REASON_LENGTH] if lines else type(error).__name__
    size = f" ({address.size:,} bytes)" if address.path.is_file() else ""
    return address.problem(
        f"cannot be read as {label}: it is cut short or damaged{size}; write or copy it again (reason: {reason})."
    )
