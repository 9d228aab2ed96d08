"""Finished rows in a folder next to the output until all are done: an interrupted run resumes from them."""

from __future__ import annotations

import hashlib
import json
import re
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.pairing import Pairing, ids_fingerprint, vectors_fingerprint
from unhub.foundation.regular_files import open_regular, read_json
from unhub.foundation.safe_text import short_repr
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import argument

EVERY = 1.0  # seconds between two writes: a kill loses no more, and small batches do not make many small files
RUN = "run.json"
LONGEST_RUN = 1 << 20  # bytes of it
STRETCH = re.compile(r"(\d{12})-(\d{12})\.npz")
"""a file of finished rows: its first item, and the one after its last"""
DRAFT = re.compile(r"\.(run|\d{12}-\d{12})[-.].*\.(json|npz)")
"""what a kill leaves of a file that was being written"""

_PARTS = {"rows": ("f4", 2), "kept": ("i8", 1), "inputs": ("U32", 0)}
"""arrays of a file of finished rows, with type and dimensions; ``kept`` are the items that gave a row"""


@dataclass
class Parts:
    """A folder of finished rows: a JSON that says how they are made, and a file for each stretch of items.

    settings: what a row depends on. marks: one text for each item that changes when the item does.
    """

    folder: Path
    settings: dict[str, Any]
    marks: Sequence[str]
    done: int = 0
    _waiting: list[tuple[FloatArray, IntArray]] = field(default_factory=list)
    _first: int = 0
    _written: float = field(default_factory=time.monotonic)

    def open(self) -> int:
        """How many items are finished; rows of another model, other settings or other items are refused."""
        refuse_links(self.folder)
        if self.folder.is_dir():
            refuse_links(*self.folder.iterdir())
        if self.folder.exists() and not (self.folder / RUN).is_file():
            self._remove()  # a kill before the settings were written, or while the folder was removed
            if self.folder.exists():
                raise InputError(
                    f"{self.folder} is in the way: it has no unfinished rows; move it or change {argument('output')}."
                )
        if (self.folder / RUN).is_file():
            self._check_settings()
            for first, last, path in self._files():
                if first != self.done or not self._same(first, last, path):
                    raise InputError(
                        f"{self.folder} holds rows of other inputs (from item {first:,} on); give the inputs that it "
                        f"was begun with, or remove it to begin again."
                    )
                self.done = last
        else:
            self.folder.mkdir(exist_ok=True)
            with replace_file(self.folder / RUN, follow_links=False) as file:
                file.write_text(json.dumps(self.settings, indent=2) + "\n", encoding="utf-8")
        self._first = self.done
        return self.done

    def add(self, rows: FloatArray, items: IntArray, last: int) -> None:
        """The items before ``last`` are finished; ``items`` are those of them that became these rows."""
        self._waiting.append((rows, items))
        self.done = last
        if time.monotonic() - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Writes what is finished and not yet written."""
        if not self._waiting:
            return
        rows, items = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
        path = self.folder / f"{self._first:012d}-{self.done:012d}.npz"
        with replace_file(path, follow_links=False) as file:
            np.savez(file, rows=rows, kept=items, inputs=np.array(self._mark(self._first, self.done)))
        self._waiting, self._first, self._written = [], self.done, time.monotonic()

    def skipped(self) -> int:
        """How many of the finished items gave no row."""
        return self.done - sum(len(self._read(path, "kept")) for _, _, path in self._files())

    def finish(self, out: Path, ids: Sequence[str]) -> tuple[tuple[int, int], IntArray]:
        """Writes the rows and their ids to their place, and removes the folder: (shape, items that gave a row).

        Each file is complete or untouched, and the record next to them says while they are not yet a pair.
        """
        self.write()
        paths = self._stretches()
        if not paths:
            self._remove()
            raise InputError("none of the inputs could be read, so there is nothing to write; check the files.")
        items = np.concatenate([self._read(path, "kept") for path in paths])
        shape = (len(items), int(self._read(paths[0], "rows").shape[1]))
        with replace_file(out) as vectors:
            self._write_rows(vectors, paths, shape)
            own = [ids[item] for item in items]
            written = np.load(vectors, mmap_mode="r")
            pairing = Pairing(vectors_fingerprint(written), ids_fingerprint(own))
            del written
            with replace_file(ids_beside(out), follow_links=False) as names:
                names.write_text("".join(f"{each}\n" for each in own), encoding="utf-8", newline="\n")
                Pairing().write(out)
        pairing.write(out)
        self._remove()
        return shape, items

    def _stretches(self) -> list[Path]:
        """The files of finished rows, in order; an error if they overlap or leave a gap."""
        place = 0
        for first, last, path in self._files():
            if first != place:
                raise InputError(
                    f"{path} does not go on from item {place:,}, where the rows before it end; remove {self.folder} to "
                    f"begin again."
                )
            place = last
        return [path for _, _, path in self._files()]

    def _write_rows(self, vectors: Path, paths: Sequence[Path], shape: tuple[int, int]) -> None:
        """Writes the rows of these files; not through a memory map, where a full disk would raise a signal."""
        with vectors.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for path in paths:
                rows = self._read(path, "rows")
                if rows.shape != (len(self._read(path, "kept")), shape[1]):
                    raise self._damaged(path)
                file.write(np.ascontiguousarray(rows, dtype="<f4").data)

    def _remove(self) -> None:
        """Removes what is ours in the folder, and the folder if nothing else is in it.

        The last rows go first and the settings last: after a kill, a run can resume from what is left.
        """
        ours = [path for path in self.folder.iterdir() if STRETCH.fullmatch(path.name) or DRAFT.fullmatch(path.name)]
        for path in (*sorted(ours, reverse=True), self.folder / RUN):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # another file is in it
            self.folder.rmdir()

    def _files(self) -> list[tuple[int, int, Path]]:
        """(first item, item after the last, file) in order."""
        named = ((STRETCH.fullmatch(path.name), path) for path in sorted(self.folder.glob("*.npz")))
        return [(int(match[1]), int(match[2]), path) for match, path in named if match]  # others: left by a kill

    def _check_settings(self) -> None:
        try:
            known = read_json(self.folder / RUN, longest=LONGEST_RUN)
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise self._damaged(self.folder / RUN)
        for name, value in self.settings.items():
            if known.get(name) != value:
                raise InputError(
                    f"{self.folder} holds rows of another run ({name} was {short_repr(known.get(name))}, "
                    f"now {value!r}); give the same again, or remove it to begin again."
                )

    def _same(self, first: int, last: int, path: Path) -> bool:
        return last <= len(self.marks) and str(self._read(path, "inputs")) == self._mark(first, last)

    def _mark(self, first: int, last: int) -> str:
        """The fingerprint of a stretch of items, ids and order included."""
        return hashlib.sha256(json.dumps(list(self.marks[first:last])).encode()).hexdigest()[:32]

    def _read(self, path: Path, name: str) -> AnyArray:
        """One array of a file of finished rows; the others are not read."""
        first, last = map(int, path.stem.split("-"))
        dtype, ndim = _PARTS[name]
        try:
            with open_regular(path) as opened, zipfile.ZipFile(opened) as archive:
                member = archive.getinfo(f"{name}.npy")
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > path.stat().st_size:
                    raise self._damaged(path)  # np.savez does not compress
                with archive.open(member) as file:
                    part: AnyArray = np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, ValueError, KeyError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile):
            raise self._damaged(path) from None
        valid = part.dtype == dtype and part.ndim == ndim and (not ndim or len(part) <= last - first)
        if valid and name == "kept" and len(part):  # different items of the stretch, in order
            valid = bool(part[0] >= first and part[-1] < last and (np.diff(part) > 0).all())
        if not valid:
            raise self._damaged(path)
        return part

    def _damaged(self, path: Path) -> InputError:
        return InputError(f"{path} is damaged; remove {self.folder} to begin again.")


def refuse_links(*paths: Path) -> None:
    """An error if one of the paths is a link: unhub never makes one there, and follows none."""
    for path in paths:
        if path.is_symlink():
            raise InputError(
                f"{path} is a link, which unhub never makes there; remove it, or choose another {argument('output')}."
            )


def ids_beside(out: Path) -> Path:
    """The file of the ids of an embedding file: ``photos.ids.txt`` for ``photos.npy``."""
    return out.with_suffix(".ids.txt")
