"""Where an array lives on disk: a path, perhaps with the name of a part (``file.npz::key``)."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from unhub.foundation.errors import InputError
from unhub.foundation.printable import printable
from unhub.foundation.regular_files import open_regular, why_not_regular

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
        """The error whose sentence begins with the argument and the path; control characters are escaped."""
        return InputError(f"{self.name}: {self.path} {printable(text)}")

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
        raise InputError(f"{name}: the path is empty; give a file such as 'file.npy' or 'file.npz::key'.")
    scheme = _STORE.match(text)
    if scheme is not None:
        raise InputError(f"{name}: this is the address of a {scheme[1]} store, and only files are taken here.")
    head, mark, key = text.partition(SEPARATOR)
    if mark and os.path.exists(text):
        head, mark, key = text, "", ""
    address = Address(name, Path(os.path.abspath(head)), key if mark else None)
    if not os.path.exists(address.path):
        if _SECRET.search(text):
            raise InputError(
                f"{name}: there is no such file, and it looks like the address of a store, which begins with the name "
                f"of the store and ://, as in qdrant://host/photos; write it so."
            )
        raise InputError(f"{name}: {_not_found(address.path)}")
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
