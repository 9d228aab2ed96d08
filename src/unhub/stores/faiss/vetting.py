"""Checks of an index file of unknown origin, before faiss reads it in this process.

An index may keep its inverted lists in another file: it then holds a path, and faiss maps whatever file that names.
Lists can be anywhere in an index (in a quantiser, behind a transform), so the bytes of the file are searched. ``probe``
runs in a child process that gets this file by its path, see ``foundation.probing``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct

from unhub.foundation.regular_files import open_regular

MARK = b"ilod"  # how such lists begin; then come two numbers, the lists, the free slots, the path
LIST, SLOT, NUMBER = 24, 16, 8


def other_file(path: str | os.PathLike[str]) -> str | None:
    """The file that an index file names; None if it holds all of its vectors itself."""
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(MARK)
            while at >= 0:
                name = _path_at(data, at + len(MARK) + 2 * NUMBER)
                if name is not None:
                    return os.fsdecode(name)
                at = data.find(MARK, at + 1)
    return None


def _path_at(data: mmap.mmap, at: int) -> bytes | None:
    """The path after the lists and slots that begin here; None if these are other bytes, which do not fit the file."""
    for size in (LIST, SLOT, 1):
        if at + NUMBER > len(data):
            return None
        (count,) = struct.unpack_from("<Q", data, at)
        begin, at = at + NUMBER, at + NUMBER + count * size
        if at > len(data):
            return None
    return data[begin:at]


def probe(path: str) -> list[int]:
    """Dimension and number of vectors, after everything an adapter asks for: ids, some vectors, a search."""
    import faiss
    import numpy as np

    from unhub.stores.faiss.index import all_ids, make_reconstructible, reconstruct

    index = faiss.read_index(path)
    ids = all_ids(index)
    make_reconstructible(index, ids)
    with contextlib.suppress(Exception):  # an index may refuse these in words; it must not crash or hang
        reconstruct(index, ids, 0, min(1024, len(ids)))
    with contextlib.suppress(Exception):
        index.search(np.ones((1, index.d), dtype=np.float32), 1)
    return [int(index.d), len(ids)]
