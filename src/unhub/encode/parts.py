"""Finished rows, kept beside the output until all are there: an interrupted run goes on from them."""

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
from unhub.foundation.json_files import read_json
from unhub.foundation.pairing import Pairing, ids_fingerprint, vectors_fingerprint
from unhub.foundation.types import AnyArray, FloatArray, IntArray

EVERY = 1.0
"""seconds between two writings: a kill costs no more, and many small batches do not make many small files"""

RUN = "run.json"
LONGEST_RUN = 1 << 20
"""bytes of it; a few settings"""
STRETCH = re.compile(r"(\d{12})-(\d{12})\.npz")
"""a file of finished rows: its first item, and the one behind its last"""
DRAFT = re.compile(r"\.(run|\d{12}-\d{12})[-.].*\.(json|npz)")
"""what a kill leaves of a file that was being written"""


@dataclass
class Parts:
    """A folder of finished rows: a JSON that says how they are made, and a file for each stretch of items.

    settings: what a row depends on. marks: one text for each item, which changes when the item does.
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
        if self.folder.exists() and not (self.folder / RUN).is_file():
            self._remove()  # a kill before the settings were noted, or while the folder was taken away
            if self.folder.exists():
                raise InputError(
                    f"{self.folder} is in the way and holds no unfinished rows; move it, or choose another -o."
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
            with replace_file(self.folder / RUN) as file:
                file.write_text(json.dumps(self.settings, indent=2) + "\n", encoding="utf-8")
        self._first = self.done
        return self.done

    def add(self, rows: FloatArray, kept: IntArray, last: int) -> None:
        """The items before ``last`` are finished; ``kept`` are those of them that became these rows."""
        self._waiting.append((rows, kept))
        self.done = last
        if time.monotonic() - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Writes what is finished and not yet written."""
        if not self._waiting:
            return
        rows, kept = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
        with replace_file(self.folder / f"{self._first:012d}-{self.done:012d}.npz") as file:
            np.savez(file, rows=rows, kept=kept, inputs=np.array(self._mark(self._first, self.done)))
        self._waiting, self._first, self._written = [], self.done, time.monotonic()

    def left_out(self) -> int:
        """How many of the finished items gave no row."""
        return self.done - sum(len(self._read(path, "kept")) for _, _, path in self._files())

    def finish(self, out: Path, ids: Sequence[str]) -> tuple[tuple[int, int], IntArray]:
        """Puts the rows and their ids in place, and takes the folder away: (shape, kept items).

        Each file is complete or untouched, and the record beside them says when they are not yet a pair.
        """
        self.write()
        paths = [path for _, _, path in self._files()]
        if not paths:
            self._remove()
            raise InputError("none of the inputs could be read, so there is nothing to write; check the files.")
        kept = np.concatenate([self._read(path, "kept") for path in paths])
        shape = (len(kept), int(self._read(paths[0], "rows").shape[1]))
        with replace_file(out) as vectors, replace_file(ids_beside(out)) as names:
            target = np.lib.format.open_memmap(vectors, mode="w+", dtype=np.float32, shape=shape)
            place = 0
            for path in paths:
                rows = self._read(path, "rows")
                target[place : place + len(rows)] = rows
                place += len(rows)
            target.flush()
            own = [ids[item] for item in kept]
            pairing = Pairing(vectors_fingerprint(target), ids_fingerprint(own))
            del target
            names.write_text("".join(f"{each}\n" for each in own), encoding="utf-8", newline="\n")
            Pairing().write(out)
        pairing.write(out)
        self._remove()
        return shape, kept

    def _remove(self) -> None:
        """Takes away what is ours in the folder, and the folder if nothing else is in it.

        The last rows go first and the settings last: after a kill, what is left can be gone on from.
        """
        ours = [path for path in self.folder.iterdir() if STRETCH.fullmatch(path.name) or DRAFT.fullmatch(path.name)]
        for path in (*sorted(ours, reverse=True), self.folder / RUN):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's file is in it
            self.folder.rmdir()

    def _files(self) -> list[tuple[int, int, Path]]:
        """(first item, item behind the last, file) in order."""
        named = ((STRETCH.fullmatch(path.name), path) for path in sorted(self.folder.glob("*.npz")))
        return [(int(found[1]), int(found[2]), path) for found, path in named if found]  # others: a kill left them

    def _check_settings(self) -> None:
        try:
            known = dict(read_json(self.folder / RUN, longest=LONGEST_RUN))
        except (ValueError, TypeError):
            raise InputError(f"{self.folder / RUN} is damaged; remove {self.folder} to begin again.") from None
        for name, value in self.settings.items():
            if known.get(name) != value:
                raise InputError(
                    f"{self.folder} holds rows of another run ({name} was {known.get(name)!r}, now {value!r}); give "
                    f"the same again, or remove it to begin again."
                )

    def _same(self, first: int, last: int, path: Path) -> bool:
        return last <= len(self.marks) and str(self._read(path, "inputs")) == self._mark(first, last)

    def _mark(self, first: int, last: int) -> str:
        """The fingerprint of a stretch of items, ids and order included."""
        return hashlib.sha256(json.dumps(list(self.marks[first:last])).encode()).hexdigest()[:32]

    def _read(self, path: Path, name: str) -> AnyArray:
        """One part of a file of finished rows; the others are not read."""
        try:
            with np.load(path, allow_pickle=False) as parts:
                part: AnyArray = parts[name]
                return part
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            raise InputError(f"{path} is damaged; remove {self.folder} to begin again.") from None


def ids_beside(out: Path) -> Path:
    """Where the ids of an embedding file are: ``photos.ids.txt`` beside ``photos.npy``."""
    return out.with_suffix(".ids.txt")
