"""Where an array lives on disk (``file.npz::key``), and the errors about a file that cannot be read."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.regular_files import open_regular, why_not_regular
from unhub.foundation.wording import argument

SEPARATOR = "::"
_STORE = re.compile(r"([A-Za-z][A-Za-z0-9+-]+):/+")
_SECRET = re.compile(r":[^/]*@|//[^/]+@|[?&;][^/]*(key|token|pass|pwd|secret)[^/]*=", re.IGNORECASE)
"""what an address of a store has in it that must not be shown, where a path seldom has it"""


@dataclass(frozen=True)
class Address:
    """A file or folder that exists, the part that was asked for, and the argument it was given for."""

    name: str
    path: Path
    key: str | None = None

    def problem(self, text: str) -> InputError:
        """The error whose sentence begins with the argument and the path."""
        return InputError(f"{self.subject()} {text}")

    def subject(self, key: str = "") -> str:
        """How a sentence about the file, or a part of it, begins."""
        return f"{argument(self.name)}: {self.path}{SEPARATOR if key else ''}{key}"

    def open(self) -> BinaryIO:
        """The file, open for reading; what is not a regular file is refused, and never waited for."""
        return open_regular(self.path, name=self.name)

    @property
    def size(self) -> int:
        """The number of bytes of the file."""
        return self.path.stat().st_size


def find(source: str | os.PathLike[str], *, name: str) -> Address:
    """The address of something that exists, or an error that names what is close to it.

    A path that itself contains ``::`` and exists is taken as it stands.
    """
    text = os.path.expanduser(os.fspath(source))
    if not text:
        raise InputError(name, "is an empty path", "give a file such as 'file.npy' or 'file.npz::key'")
    scheme = _STORE.match(text)
    if scheme is not None:
        raise InputError(name, f"is the address of a {scheme[1]} store", "give a file")
    head, mark, key = text.partition(SEPARATOR)
    if mark and os.path.exists(text):
        head, mark, key = text, "", ""
    address = Address(name, Path(os.path.abspath(head)), key if mark else None)
    if not os.path.exists(address.path):
        if _SECRET.search(text):
            raise InputError(
                name,
                "is no file, and looks like the address of a store",
                "begin it with the name of the store and ://, as in qdrant://host/photos",
            )
        raise InputError(f"{argument(name)}: {_not_found(address.path)}")
    if mark and not key:
        raise address.problem(f"is followed by '{SEPARATOR}' but no name; write {head}{SEPARATOR}key or {head}.")
    return address


def check_not_empty(address: Address) -> None:
    """An error if the file has no bytes at all."""
    if address.path.is_file() and address.size == 0:
        raise address.problem("is empty (0 bytes); write or copy it again.")


def check_is_file(address: Address) -> None:
    """An error if the path is a folder, or something that is not a file at all."""
    reason = why_not_regular(address.path.stat().st_mode)
    if reason is not None:
        raise address.problem(reason)


def _not_found(path: Path) -> str:
    folder = path.parent
    if not os.path.isdir(folder):
        return f"there is no file {path}, nor a folder {folder}; check the path."
    close = _close_names(path.name, folder)
    advice = f"did you mean {' or '.join(map(repr, close))}?" if close else "check the path."
    return f"there is no file {path.name!r} in {folder}; {advice}"


def _close_names(wanted: str, folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    folded = {name.casefold(): name for name in names}
    close = [folded[match] for match in difflib.get_close_matches(wanted.casefold(), folded, n=3)]
    stem = Path(wanted).stem.casefold()
    same_stem = [name for name in names if Path(name).stem.casefold() == stem and name not in close]
    return (close + same_stem)[:3]


_REASON_LENGTH = 160  # characters of the reader's own words that still help
_HDF5_TRUNCATED = re.compile(r"truncated file: eof = (\d+), .*stored_eof = (\d+)")


@contextmanager
def translate_errors(address: Address, label: str) -> Iterator[None]:
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
        raise damaged_file(address, label, error) from error


def truncated_file(address: Address, *, expected: int, found: int) -> InputError:
    """The error for a file whose own header promises more bytes than there are."""
    return address.problem(f"is cut short: {expected:,} bytes expected but {found:,} found; write or copy it again.")


def damaged_file(address: Address, label: str, error: Exception) -> InputError:
    """The error for a file that its reader does not understand, with the reader's reason."""
    truncated = _HDF5_TRUNCATED.search(str(error))
    if truncated:
        return truncated_file(address, expected=int(truncated[2]), found=int(truncated[1]))
    lines = str(error).strip().splitlines()
    reason = lines[0].strip().rstrip(".")[:_REASON_LENGTH] if lines else type(error).__name__
    size = f" ({address.size:,} bytes)" if address.path.is_file() else ""
    return address.problem(
        f"cannot be read as {label}: it is cut short or damaged{size}; write or copy it again (reason: {reason})."
    )
