"""Which ids belong to which vectors: a small record next to the two files, because two files cannot change as one.

``unhub encode`` writes ``x.npy`` and ``x.ids.txt``. Before it replaces the first of them, ``x.encoded.json`` says that
they are unfinished; when both are written, it holds a fingerprint of each. A reader refuses an unfinished pair, and
vectors or ids other than those of the record. Files without a record are not checked.

The ids are checked whole. Of the vectors, up to `READ` numbers are: all of a small file, evenly spread parts of a large
one. So a pair that a kill left half replaced is always refused; a file of another run that was copied over one of the
two later is refused unless it agrees in shape and in every row that is checked.
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

READ = 1 << 20  # numbers of the vectors that a fingerprint reads at most: 4 MB, which takes milliseconds
STRETCHES = 64  # parts of a large file that they are read from: as many seeks of a disk
LARGEST = 1 << 12  # bytes of a record at most; a longer file of the same name is not ours


@dataclass(frozen=True)
class Pairing:
    """The fingerprints of the vectors and of the ids; None while they are being replaced."""

    vectors: str | None = None
    ids: str | None = None
    unhub_encode: int = 1

    @property
    def finished(self) -> bool:
        """Whether both files were in place when it was written."""
        return self.vectors is not None and self.ids is not None

    def write(self, vectors: Path) -> None:
        """Writes the record next to a file of vectors, whole or not at all."""
        with replace_file(record_beside(vectors), follow_links=False) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def record_beside(vectors: Path) -> Path:
    """Where the record of a file of vectors is: ``photos.encoded.json`` beside ``photos.npy``."""
    return vectors.with_suffix(".encoded.json")


def pairing_beside(vectors: Path) -> Pairing | None:
    """The record next to a file of vectors; None if there is none of ours."""
    try:
        record = read_json(record_beside(vectors), longest=LARGEST)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(record, dict) or "unhub_encode" not in record:
        return None
    return Pairing(record.get("vectors"), record.get("ids"), record["unhub_encode"])


def vectors_fingerprint(rows: Sliceable) -> str:
    """The fingerprint of a matrix: of its shape, and of up to `READ` numbers from its first row to its last."""
    count, dim = rows.shape
    height = count if count * dim <= READ else max(1, READ // STRETCHES // dim)
    fingerprint = hashlib.sha256(f"{count} {dim}".encode())
    for start in sorted({(count - height) * at // (STRETCHES - 1) for at in range(STRETCHES)}):
        fingerprint.update(np.ascontiguousarray(rows[start : start + height], dtype="<f4").tobytes())
    return fingerprint.hexdigest()


def ids_fingerprint(ids: Sequence[str]) -> str:
    """The fingerprint of a list of ids, order included."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()
