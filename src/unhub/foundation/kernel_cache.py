"""Compiled kernels on disk, in numba's folder; a file that is empty, damaged or not ours is compiled again.

numba stores pickles: an index of each function, and its machine code. It may raise anything on a damaged one, and would
run a changed one. Here each file begins with the digest of the rest, is complete or not there, and is read only if its
owner may change this program anyway: the user, the owner of the source, the administrator.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from unhub.foundation.atomic import replace_file

_DIGEST = hashlib.sha256().digest_size


class KernelCache(FunctionCache):
    """The cache of one function. Failing to read or write it never ends a run: the function is compiled again."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled function; None if it is not there, or cannot be used."""
        try:
            return super().load_overload(*args, **kwargs)
        except Exception:  # a damaged file can make numba raise anything
            return None

    def save_overload(self, *args: Any, **kwargs: Any) -> None:
        """Stores the compiled function, if there is room for it."""
        with suppress(Exception):  # a full disk, a folder that is gone: it is compiled again next time
            super().save_overload(*args, **kwargs)


class _SealedFiles(IndexDataCacheFile):
    """numba's index and data files, with digests."""

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = _unsealed(Path(self._index_path))
        except (OSError, ValueError):
            return {}
        return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        _seal(Path(self._index_path), self._dump((self._version, self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        try:
            return _unsealed(Path(self._data_path(name)))
        except ValueError:
            return None

    def _save_data(self, name: str, data: Any) -> None:
        _seal(Path(self._data_path(name)), self._dump(data))


def _seal(path: Path, contents: bytes) -> None:
    with replace_file(path) as temporary:
        temporary.write_bytes(hashlib.sha256(contents).digest() + contents)


def _unsealed(path: Path) -> Any:
    """The sealed value; ValueError if the file is damaged, or its owner may not run code here."""
    with path.open("rb") as file:
        owner, whole = os.fstat(file.fileno()).st_uid, file.read()
    digest, contents = whole[:_DIGEST], whole[_DIGEST:]
    if owner not in _may_run_code() or hashlib.sha256(contents).digest() != digest:
        raise ValueError(f"{path} is damaged or not ours")
    return pickle.loads(contents)


def _may_run_code() -> tuple[int, ...]:
    """The users whose code runs here anyway; Windows calls all of them 0."""
    return (0, os.geteuid() if hasattr(os, "geteuid") else 0, os.stat(__file__).st_uid)
