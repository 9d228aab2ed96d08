"""faiss: an index in a file. What is written goes to a spool beside it and becomes an index, whole, when finished.

Ids are the index's own (IDMap, or an IVF's), otherwise row numbers. A filter is a list of the ids that may come up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.optional import require
from unhub.foundation.probing import AnswerCache, probe
from unhub.foundation.regular_files import Stamp, stamp_of, why_not_regular
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.adapter import CollectionBase, are_unit, checked_queries, guarded
from unhub.stores.address import Address
from unhub.stores.faiss.index import (
    all_ids,
    build,
    inner,
    kind_of,
    make_reconstructible,
    metric_of,
    quantiser_of,
    raise_effort,
    reconstruct,
    removed,
    search_within,
    spec_of,
)
from unhub.stores.faiss.spool import Spool
from unhub.stores.faiss.vetting import other_file
from unhub.stores.protocol import BLOCK, Abilities, Block, Collection, Description, Metric, SearchResults

SUFFIX = ".faiss"
MARK = b"\nunhub: a corrected index that unhub export has written; unhub rollback removes it\n"
"""the end of every index file that ``create`` has begun; faiss itself reads no further than the index"""

_PROBE = Path(__file__).with_name("vetting.py")
_SIZES_IN_MEMORY = 4  # an index in memory is as large as its file, with a table of its ids beside it
_REASON = 160  # characters of faiss's own words that still help
_vetted = AnswerCache()


def open_collection(address: Address) -> FaissIndex:
    """The index file of ``faiss://photos.faiss`` or ``faiss:///data/photos.faiss?index=HNSW32``."""
    address.allow("index")
    if not address.file:
        raise InputError(
            "the address of the faiss index has no path; write faiss://photos.faiss or faiss:///data/photos.faiss."
        )
    return FaissIndex(address)


class FaissIndex(CollectionBase):
    """One index file; ``?index=`` names a factory string for corrected copies, if the index does not tell its own."""

    kind = "faiss"
    keeps_effort = True
    abilities = Abilities(
        ("augment", "constant_norm", "rerank"),
        metrics=("ip", "l2"),
        exact=False,
        snapshot=True,
        noun="file",
    )

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.path = Path(address.path)
        self._spool = Spool(self.path.with_name(f"{self.path.name}.part"))
        self._loaded: tuple[Stamp, Any, IntArray] | None = None
        self._gone: set[str] = set()
        self._turned = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def exists(self) -> bool:
        """Whether the file is there, or the spool of one that is being made."""
        return self.path.exists() or self.path.is_symlink() or self._spool.exists()

    def describe(self) -> Description:
        """What the file holds."""
        index, ids = self._index()
        first = reconstruct(index, ids, 0, min(BLOCK, len(ids)))
        exact = inner(index).__class__.__name__.startswith("IndexFlat")
        kind = kind_of(index)
        kept = _dtype(kind)
        unit = are_unit(first, blurred=not kept.startswith("float"))
        return Description(
            self.url,
            metric_of(index),
            index.d,
            len(ids),
            kind,
            exact,
            kept,
            unit,
            graph=hasattr(inner(index), "hnsw"),
            quantiser=quantiser_of(index),
        )

    def scan(self, block: int = BLOCK) -> Iterator[Block]:
        """Every vector, as exactly as the index has kept it."""
        index, ids = self._index()
        for start in range(0, len(ids), block):
            with guarded(self.address, "cannot be read"):
                vectors = reconstruct(index, ids, start, min(start + block, len(ids)))
            yield Block([str(each) for each in ids[start : start + block].tolist()], vectors)

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """The ids of the file and, while it is being made, of the spool."""
        known = self._index()[1] if self.path.exists() else np.empty(0, dtype=np.int64)
        spooled = self._spool.ids() if self._spool.exists() else np.empty(0, dtype=np.int64)
        every = np.concatenate((known, np.setdiff1d(spooled, known))).tolist()
        for start in range(0, len(every), block):
            yield [str(each) for each in every[start : start + block]]

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by the index's own metric; ``filter`` is a list of ids, or a faiss IDSelector."""
        if exact:
            raise InputError(
                "a faiss index cannot be asked for an exact search; search the vectors with Correction.search."
            )
        index, every = self._index()
        asked = checked_queries(self.url, queries, index.d)
        with guarded(self.address, "cannot be searched"):
            if filter is None:
                scores, labels = index.search(asked, k)
            else:
                scores, labels = search_within(index, every, asked, k, _numbers(filter))
        if metric_of(index) == "l2":
            scores = -scores
        return _found(labels, scores)

    def derived(self, tag: str) -> str:
        """photos.unhub-1f3c9a2b.faiss beside photos.faiss."""
        return f"{self.path.stem}.unhub-{tag}{self.path.suffix or SUFFIX}"

    def sibling(self, name: str) -> FaissIndex:
        """Another index in the same folder."""
        return FaissIndex(replace(self.address, path=str(self.path.with_name(name))))

    def made_by_unhub(self) -> bool:
        """Whether the file ends in unhub's mark, and the spool says the same; a link is never ours."""
        other = self.path.is_symlink() or (self.path.exists() and not self.path.is_file())
        if other or not self.exists():
            return False
        spooled = self._spool.marked if self._spool.exists() else True
        return spooled and (not self.path.exists() or _ends_in_mark(self.path))

    def create(self, like: Collection, dim: int, metric: Metric) -> None:
        """Notes what index is to be made; the vectors are spooled until ``finish`` trains and builds it."""
        assert isinstance(like, FaissIndex)
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a link; remove it first.")
        if self.path.exists():
            return
        origin, _ = like._index()
        with guarded(self.address, "cannot be written"):
            made = spec_of(origin, factory=like.address.options.get("index")).resized(dim, metric)
            if not self._spool.exists():
                self._spool.create(made, marked=True)
            elif self._spool.spec() != made:
                raise InputError(f"{self._spool.folder} was begun for another kind of index; remove it, export again.")

    def upsert(self, block: Block) -> None:
        """Appends to the spool."""
        with guarded(self.address, "cannot be written"):
            if not self._spool.exists():
                self._spool.create(spec_of(self._index()[0]), marked=self.made_by_unhub())
            self._spool.append(_numbers(block.ids), block.vectors)

    def delete(self, ids: Sequence[str]) -> None:
        """Notes what is to go; ``finish`` writes the index without it."""
        self._gone.update(ids)

    def finish(self) -> None:
        """Makes the index of what was put, or the old one with what was put and without what was deleted."""
        if not (self._spool.exists() or self._gone or self._turned):
            self._spool.drop()  # the empty folder that a kill may have left
            return
        faiss = require("faiss", extra="faiss")
        with guarded(self.address, "cannot be written"):
            made, marked = self._made(), self.made_by_unhub()
            with replace_file(self.path) as temporary:
                faiss.write_index(made, str(temporary))
                if marked:
                    with open(temporary, "ab") as file:
                        file.write(MARK)
            _vetted.answer(self.path, "index", lambda: True)  # our own work needs no child
            self._spool.drop()
        self._gone.clear()
        self._turned = False
        self._loaded = None

    def raise_effort(self, factor: float) -> bool:
        """Has searches of a graph or of inverted lists look at more; a flat index has nothing to turn."""
        if not raise_effort(self._index()[0], factor):
            return False
        self._turned = True
        return True

    def drop(self) -> None:
        """Removes the file and its spool."""
        with guarded(self.address, "cannot be removed"):
            self._spool.drop()
            self.path.unlink(missing_ok=True)
        self._loaded = None

    def close(self) -> None:
        """Lets go of the index."""
        self._loaded = None

    def _made(self) -> Any:
        """The index that is to be written."""
        if self._spool.exists() or self._gone:
            return (
                self._changed()
                if self.path.exists()
                else build(self._spool.spec(), self._spool, without=_numbers(self._gone))
            )
        return self._index()[0]

    def _changed(self) -> Any:
        """The index as it is, without what was deleted or written anew, with what was put."""
        index, ids = self._index()
        spooled = self._spool.ids() if self._spool.exists() else np.empty(0, dtype=np.int64)
        leaving = np.intersect1d(ids, np.union1d(spooled, _numbers(self._gone)))
        spool = self._spool if self._spool.exists() else None
        return removed(index, ids, leaving, spool, self.path, without=_numbers(self._gone))

    def _index(self) -> tuple[Any, IntArray]:
        """The index and its ids, read again when the file has changed."""
        if not self.path.exists():
            part = " yet (it is still being written)" if self._spool.exists() else ""
            raise StoreError(f"{self.url}: there is no index {self.path}{part}; check the path.")
        stat = self.path.stat()
        reason = why_not_regular(stat.st_mode)
        if reason is not None:
            raise StoreError(f"{self.url} {reason}")
        stamp = stamp_of(stat)
        loaded = self._loaded
        if loaded is not None and loaded[0] == stamp:
            return loaded[1], loaded[2]
        faiss = require("faiss", extra="faiss")
        with self._lock, guarded(self.address, "cannot be read as a faiss index"):
            self._vet(stat.st_size)
            index = faiss.read_index(str(self.path))
            ids = all_ids(index)
            self._refuse_repeats(ids)
            make_reconstructible(index, ids)
            self._loaded = (stamp, index, ids)
        return index, ids

    def _vet(self, size: int) -> None:
        """Has a child process read the file first: faiss can loop or crash on a damaged one."""

        def ask() -> Any:
            elsewhere = other_file(self.path)
            if elsewhere is not None:
                raise StoreError(
                    f"{self.url} keeps its vectors in another file ({elsewhere[:_REASON]!r}), which an index from "
                    f"anybody could name, so that it is not opened; write an index that holds its lists itself."
                )
            return probe(_PROBE, {"path": str(self.path.absolute())}, size=size, memory=_SIZES_IN_MEMORY * size)

        try:
            _vetted.answer(self.path, "index", ask)
        except (ValueError, MemoryError) as error:
            reason = " ".join(str(error).split())[:_REASON] or "it needs far more memory than its size"
            raise StoreError(
                f"{self.url} cannot be read as a faiss index: it is cut short or damaged ({size:,} bytes); write or "
                f"copy it again (reason: {reason})."
            ) from error

    def _refuse_repeats(self, ids: IntArray) -> None:
        unique, counts = np.unique(ids, return_counts=True)
        if len(unique) != len(ids):
            raise StoreError(
                f"{self.url}: {np.count_nonzero(counts > 1):,} ids are in it more than once (first: "
                f"{unique[counts > 1][0]}); write an index in which each id comes once."
            )


def _ends_in_mark(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - len(MARK)))
        return file.read() == MARK


def _numbers(ids: Any) -> Any:
    """Ids as faiss has them, 64-bit integers; a selector as it is."""
    if type(ids).__module__.startswith("faiss"):
        return ids
    try:
        return np.array([int(each) for each in ids], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "faiss ids are whole numbers; give those of the index (a filter is a list of them), not other names."
        ) from None


def _found(labels: IntArray, scores: FloatArray) -> SearchResults:
    ids = labels.astype(object)
    missing = labels < 0
    if missing.any():
        ids[missing] = None
        scores = np.where(missing, np.float32(-np.inf), scores)
    return SearchResults(ids, scores)


def _dtype(kind: str) -> str:
    """What the last part of a factory string keeps a vector in."""
    last = kind.rpartition(",")[2]
    if last.startswith("SQfp16"):
        return "float16"
    if last.startswith(("SQ", "PQ", "RaBitQ", "LSH")):
        return last
    return "float32"
