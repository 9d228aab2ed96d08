"""Where an array is on disk (``file.npz::key``), what a file holds, and the errors about a file that cannot be read."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.regular_files import open_regular, why_not_regular
from unhub.foundation.wording import argument, setting

SEPARATOR = "::"
WHOLE = ""  # the key of a file that holds one array without a name
NUMBERS, TEXT = "fiu", "USTO"  # kinds of NumPy type
PICKLES = (".pkl", ".pickle", ".joblib", ".dill")

_STORE = re.compile(r"([A-Za-z][A-Za-z0-9+-]+):/+")
_SECRET = re.compile(r":[^/]*@|//[^/]+@|[?&;][^/]*(key|token|pass|pwd|secret)[^/]*=", re.IGNORECASE)
"""parts of a store's address that must not be shown; paths seldom have them"""

_HDF5_TRUNCATED = re.compile(r"truncated file: eof = (\d+), .*stored_eof = (\d+)")
_REASON_LENGTH = 160  # characters of the reader's own words that still help
_LISTED = 10  # parts named in an error; the others are counted
_KINDS = {
    "b": "true/false values", "U": "text", "S": "text", "T": "text", "O": "Python objects", "c": "complex numbers",
    "V": "records", "M": "dates", "m": "times",
}  # fmt: skip


@dataclass(frozen=True)
class Address:
    """A file or folder that exists, the part to read, and the argument that it was given for."""

    name: str
    path: Path
    key: str | None = None

    @property
    def suffix(self) -> str:
        """The extension in lower case, with its dot."""
        return self.path.suffix.lower()

    @property
    def size(self) -> int:
        """The number of bytes of the file."""
        return self.path.stat().st_size

    def subject(self, key: str = "") -> str:
        """How a sentence about the file, or a part of it, begins."""
        return f"{argument(self.name)}: {self.path}{SEPARATOR if key else ''}{key}"

    def problem(self, text: str) -> InputError:
        """The error whose sentence begins with the argument and the path."""
        return InputError(f"{self.subject()} {text}")

    def truncated(self, *, expected: int, actual: int) -> InputError:
        """The error for a file whose own header promises more bytes than there are."""
        return self.problem(f"is cut short: {expected:,} bytes expected but {actual:,} found; write or copy it again.")

    def changed(self) -> InputError:
        """The error for a file that is not as it was when it was opened."""
        return self.problem("was changed while it was being read; start again when nothing writes to it.")

    def damaged(self, label: str, error: Exception) -> InputError:
        """The error for a file that its reader does not understand, with the reader's reason."""
        truncated = _HDF5_TRUNCATED.search(str(error))
        if truncated:
            return self.truncated(expected=int(truncated[2]), actual=int(truncated[1]))
        lines = str(error).strip().splitlines()
        reason = lines[0].strip().rstrip(".")[:_REASON_LENGTH] if lines else type(error).__name__
        size = f" ({self.size:,} bytes)" if self.path.is_file() else ""
        return self.problem(
            f"cannot be read as {label}: it is cut short or damaged{size}; write or copy it again (reason: {reason})."
        )

    def open(self) -> BinaryIO:
        """The file, open for reading; anything but a regular file is refused, and never waited for."""
        return open_regular(self.path, name=self.name)

    def check_file(self, known: Collection[str] = ()) -> None:
        """An error unless this is a regular file that is not empty, with one of the known extensions, if any are given.

        A pickle that is not among them is refused with a sentence of its own.
        """
        reason = why_not_regular(self.path.stat().st_mode)
        if reason is not None:
            raise self.problem(reason)
        if known and self.suffix in PICKLES:
            raise self.problem(
                "is a pickle, which can run code when opened and is never read; save the array with numpy.save, or "
                f"make an experiment of it with unhub import and {setting('trust', True)}."
            )
        if known and self.suffix not in known:
            came = f"the unknown extension {self.suffix!r}" if self.suffix else "no extension"
            raise self.problem(f"has {came}; known are {', '.join(known)}.")
        if self.size == 0:
            raise self.problem("is empty (0 bytes); write or copy it again.")

    @contextmanager
    def reading(self, label: str) -> Iterator[None]:
        """A block in which any failure of a reader becomes an ``InputError`` about the file.

        Errors of unhub pass through, and so does what is not an error (an interrupt).
        """
        try:
            yield
        except UnhubError:
            raise
        except PermissionError as error:
            raise self.problem("cannot be opened: permission denied; change its mode or its owner.") from error
        except RecursionError as error:
            raise self.problem(f"is nested too deeply to be read as {label}; write a plain list or table.") from error
        except MemoryError as error:
            raise self.problem(
                f"cannot be read as {label}: it is damaged or does not fit in memory; "
                "convert it to .npy, which is read in blocks."
            ) from error
        except Exception as error:  # a damaged file can make a reader raise anything
            raise self.damaged(label, error) from error


def find(source: str | os.PathLike[str], *, name: str) -> Address:
    """The address of something that exists, or an error that names similar files.

    A path that itself contains ``::`` and exists is taken literally.
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
            advice = "begin it with the name of the store and ://, as in qdrant://host/photos"
            raise InputError(name, "is no file, and looks like the address of a store", advice)
        raise InputError(f"{argument(name)}: {_not_found(address.path)}")
    if mark and not key:
        raise address.problem(f"is followed by '{SEPARATOR}' but no name; write {head}{SEPARATOR}key or {head}.")
    return address


def _not_found(path: Path) -> str:
    folder = path.parent
    if not os.path.isdir(folder):
        return f"there is no file {path}, nor a folder {folder}; check the path."
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    folded = {name.casefold(): name for name in names}
    close = [folded[match] for match in difflib.get_close_matches(path.name.casefold(), folded, n=3)]
    same_stem = [name for name in names if Path(name).stem.casefold() == path.stem.casefold() and name not in close]
    similar = (close + same_stem)[:3]
    advice = f"did you mean {' or '.join(map(repr, similar))}?" if similar else "check the path."
    return f"there is no file {path.name!r} in {folder}; {advice}"


def check_matrix(subject: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless this is a matrix of numbers with rows and columns."""
    check_numbers(subject, dtype)
    if len(shape) != 2:
        raise InputError(f"{subject} has shape {shape}, not two dimensions; give one row per item: (rows, columns).")
    if shape[0] == 0:
        raise InputError(f"{subject} has shape {shape}: there are no rows; give at least one.")
    if shape[1] == 0:
        raise InputError(f"{subject} has shape {shape}: the rows have dimension 0; give at least one column.")


def check_numbers(subject: str, dtype: np.dtype[Any]) -> None:
    """An error, beginning with ``subject``, unless these are real numbers."""
    if dtype.kind not in NUMBERS:
        kind = _KINDS.get(dtype.kind, "values")
        raise InputError(f"{subject} holds {kind} (dtype {dtype}), not numbers; convert them to float32.")


def numpy_floats(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers in a type that NumPy knows: bfloat16 becomes float32."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


@dataclass(frozen=True)
class Part:
    """One array of a file: its shape and type are known, ``load`` reads it (lazily where the format can)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], Any]

    @classmethod
    def of(cls, array: Any) -> Part:
        """A part that is already an array."""
        return cls(array.shape, array.dtype, lambda: array)


@dataclass(frozen=True)
class Contents:
    """All parts of a file by name, listed before any is read.

    ``id_names`` are the names of parts that hold ids; ``probable_ids`` is a part without such a name that is the only
    text in a table.
    """

    parts: Mapping[str, Part]
    id_names: tuple[str, ...] = ("ids", "id")
    probable_ids: str | None = None

    def ids_of(self, key: str) -> str | None:
        """The part that holds the ids of part ``key``, if any: ``<key>_ids``, or the usual names."""
        group = key[: key.rfind("/") + 1]
        for name in (f"{key}_ids", *(group + name for name in self.id_names), *self.id_names):
            if name != key and name in self.parts and self.could_be_ids(name):
                return name
        return None

    def could_be_ids(self, name: str) -> bool:
        """Whether a part is one column of text or numbers."""
        part = self.parts[name]
        return len(part.shape) == 1 and part.dtype.kind in NUMBERS + TEXT

    def matrices(self) -> list[str]:
        """The parts that are matrices of numbers."""
        return [key for key, part in self.parts.items() if len(part.shape) == 2 and part.dtype.kind in NUMBERS]


def choose(address: Address, contents: Contents, *, candidates: list[str], wanted: str) -> str:
    """The key of the part that the address names, or of the only candidate; the error lists what there is."""
    parts = contents.parts
    if not parts:
        raise address.problem(f"holds no arrays; write {wanted} into it.")
    if address.key is not None:
        return _named_part(address, parts)
    if len(candidates) == 1 or len(parts) == 1:
        return (candidates or list(parts))[0]
    if candidates:
        listed = _listing({key: parts[key] for key in candidates})
        example = f"{address.path.name}{SEPARATOR}{candidates[0]}"
        raise address.problem(f"holds several {wanted}: {listed}; name one, for instance {example}.")
    raise address.problem(f"holds no {wanted}; it has: {_listing(parts)}.")


def _named_part(address: Address, parts: Mapping[str, Part]) -> str:
    key = (address.key or "").strip("/")
    if key in parts:
        return key
    if list(parts) == [WHOLE]:
        raise address.problem(f"holds one array and no part {address.key!r}; leave out '{SEPARATOR}{address.key}'.")
    close = difflib.get_close_matches(key, parts, n=1)
    advice = f"; did you mean {address.path.name}{SEPARATOR}{close[0]}?" if close else "."
    raise address.problem(f"has no part {address.key!r}; it has: {_listing(parts)}{advice}")


def _listing(parts: Mapping[str, Part]) -> str:
    named = [f"{key} {part.shape}" for key, part in list(parts.items())[:_LISTED]]
    rest = len(parts) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")
