"""An index file whose inverted lists are in another file: it has a path in it, and faiss maps whatever that names.

faiss does so while it reads the index, and lists can stand anywhere in it (in a quantiser, behind a transform), so that
it is the bytes of the file that are looked at, before faiss reads them.
"""

from __future__ import annotations

import mmap
import os
import struct

from unhub.foundation.regular_files import open_regular

MARK = b"ilod"
"""with which such lists begin; what follows: two numbers, the lists, the free slots, the path"""
LIST, SLOT, NUMBER = 24, 16, 8


def other_file(path: str | os.PathLike[str]) -> str | None:
    """The file that an index file names; None if it holds all of its vectors itself."""
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(MARK)
            while at >= 0:
                found = _path_at(data, at + len(MARK) + 2 * NUMBER)
                if found is not None:
                    return os.fsdecode(found)
                at = data.find(MARK, at + 1)
    return None


def _path_at(data: mmap.mmap, at: int) -> bytes | None:
    """The path behind the lists and slots that begin here; None if these are other bytes, that do not fit the file."""
    for size in (LIST, SLOT, 1):
        if at + NUMBER > len(data):
            return None
        (count,) = struct.unpack_from("<Q", data, at)
        begin, at = at + NUMBER, at + NUMBER + count * size
        if at > len(data):
            return None
    return data[begin:at]
