"""Which ids belong to which vectors: a small record beside the two files, because two files cannot change as one.

``unhub encode`` writes ``x.npy`` and ``x.ids.txt``. Before it replaces the first of them, ``x.encoded.json`` says that
they are not finished; when both are there, it holds a fingerprint of each. A reader that finds a record refuses an
unfinished pair, and vectors or ids that are not those of the record. What nobody wrote a record for is not checked.

The ids are checked whole. Of the vectors, up to `READ` numbers are: all of a small file, evenly spread stretches of a
large one. So a pair that a kill left half replaced is always refused, since it is not finished; another run's file
that was copied over one of the two later is refused unless it agrees in shape and in every row that was looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.regular_files import read_json
from unhub.foundation.types import Sliceable

READ = 1 << 20
"""numbers of the vectors that a fingerprint reads at most: 4 MB, which takes milliseconds"""

STRETCHES = 64
"""parts of a large file that they are read from: as many seeks of a disk"""

LARGEST = 1 << 12
"""bytes of a record at most; a longer file of the same name is somebody else's"""


@dataclass(frozen=True)
class Pairing:
    """What a record says: the fingerprints of the vectors and of the ids, None while they are being replaced."""

    vectors: str | None = None
    ids: str | None = None
    unhub_encode: int = 1

    @property
    def finished(self) -> bool:
        """Whether both files were in place when it was written."""
        return self.vectors is not None and self.ids is not None

    def write(self, vectors: Path) -> None:
        """Puts the record beside a file of vectors, whole or not at all."""
        with replace_file(record_beside(vectors), follow_links=False) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def record_beside(vectors: Path) -> Path:
    """Where the record of a file of vectors is: ``photos.encoded.json`` beside ``photos.npy``."""
    return vectors.with_suffix(".encoded.json")


def pairing_beside(vectors: Path) -> Pairing | None:
    """What the record beside a file of vectors says; None where there is none of ours."""
    try:
        told = read_json(record_beside(vectors), longest=LARGEST)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(told, dict) or "unhub_encode" not in told:
        return None
    return Pairing(told.get("vectors"), told.get("ids"), told["unhub_encode"])


def vectors_fingerprint(rows: Sliceable) -> str:
    """A name for a matrix of vectors: its shape, and up to `READ` of its numbers, from its first row to its last."""
    count, dim = rows.shape
    height = count if count * dim <= READ else max(1, READ // STRETCHES // dim)
    found = hashlib.sha256(f"{count} {dim}".encode())
    for start in sorted({(count - height) * at // (STRETCHES - 1) for at in range(STRETCHES)}):
        found.update(np.ascontiguousarray(rows[start : start + height], dtype="<f4").tobytes())
    return found.hexdigest()


def ids_fingerprint(ids: Sequence[str]) -> str:
    """A name for a list of ids, order included."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()
