"""faiss: an index in a file. What is written goes to a spool beside it, and ``finish`` makes the index of it.

Ids are the index's own (IDMap, or an IVF's), otherwise row numbers. A filter is a list of the ids that may come up, or
a faiss IDSelector.
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
from unhub.foundation.probing import AnswerCache, probe
from unhub.foundation.regular_files import Stamp, stamp_of, why_not_regular
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.adapter import Collection, are_unit, checked_queries, guarded
from unhub.stores.address import Address
from unhub.stores.faiss import index as faiss_index
from unhub.stores.faiss.spool import Spool
from unhub.stores.faiss.vetting import other_file
from unhub.stores.interface import BLOCK, Abilities, Block, Description, Metric, SearchResults

SUFFIX = ".faiss"
MARK = b"\nunhub: a corrected index that unhub export has written; unhub rollback removes it\n"
"""the end of every index file that ``create`` has begun; faiss itself reads no further than the index"""

_PROBE = Path(__file__).with_name("vetting.py")
_SIZES_IN_MEMORY = 4  # an index in memory is as large as its file, with a table of its ids beside it
_REASON = 160  # characters of faiss's own message that still help
_NO_IDS = np.empty(0, dtype=np.int64)
_vetted = AnswerCache()


def open_collection(address: Address) -> FaissIndex:
    """The index file of ``faiss://photos.faiss`` or ``faiss:///data/photos.faiss?index=HNSW32``."""
    address.allow("index")
    if not address.file:
        raise InputError(
            "the address of the faiss index has no path; write faiss://photos.faiss or faiss:///data/photos.faiss."
        )
    return FaissIndex(address)


class FaissIndex(Collection):
    """One index file; ``?index=`` names a factory string for corrected copies, if the index does not tell its own."""

    kind = "faiss"
    abilities = Abilities(
        ("augment", "constant_norm", "rerank"),
        metrics=("ip", "l2"),
        exact=False,
        snapshot=True,
        noun="file",
        keeps_effort=True,
    )

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.path = Path(address.path)
        self._spool = Spool(self.path.with_name(f"{self.path.name}.part"))
        self._loaded: tuple[Stamp, Any, IntArray] | None = None
        self._deleted: set[str] = set()
        self._effort_changed = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def derived(self, tag: str) -> str:
        """photos.unhub-1f3c9a2b.faiss beside photos.faiss."""
        return f"{self.path.stem}.unhub-{tag}{self.path.suffix or SUFFIX}"

    def sibling(self, name: str) -> FaissIndex:
        """Another index in the same folder."""
        return FaissIndex(replace(self.address, path=str(self.path.with_name(name))))

    def raise_effort(self, factor: float) -> bool:
        """Makes searches of a graph or of inverted lists look at more; ``finish`` writes it into the file."""
        if not faiss_index.raise_effort(self._index()[0], factor):
            return False
        self._effort_changed = True
        return True

    def close(self) -> None:
        """Frees the index."""
        self._loaded = None

    def _exists(self) -> bool:
        return self.path.exists() or self.path.is_symlink() or self._spool.exists()

    def _describe(self) -> Description:
        index, ids = self._index()
        facts = faiss_index.facts_of(index)
        first = faiss_index.reconstruct(index, ids, 0, min(BLOCK, len(ids)))
        return Description(
            self.url, faiss_index.metric_of(index), index.d, len(ids), faiss_index.kind_of(index), facts.exact,
            facts.dtype, are_unit(first, blurred=not facts.dtype.startswith("float")), facts.graph, facts.quantiser,
        )  # fmt: skip

    def _scan(self, block: int) -> Iterator[Block]:
        index, ids = self._index()
        for start in range(0, len(ids), block):
            vectors = faiss_index.reconstruct(index, ids, start, min(start + block, len(ids)))
            yield Block([str(each) for each in ids[start : start + block].tolist()], vectors)

    def _ids(self, block: int) -> Iterator[list[str]]:
        indexed = self._index()[1] if self.path.exists() else _NO_IDS
        every = np.concatenate((indexed, np.setdiff1d(self._spooled_ids(), indexed))).tolist()
        for start in range(0, len(every), block):
            yield [str(each) for each in every[start : start + block]]

    def _search(self, queries: FloatArray, k: int, filter: Any, exact: bool) -> SearchResults:
        index, every = self._index()
        rows = checked_queries(self.url, queries, index.d)
        if filter is None:
            scores, labels = index.search(rows, k)
        else:
            scores, labels = faiss_index.search_within(index, every, rows, k, _numbers(filter))
        if faiss_index.metric_of(index) == "l2":
            scores = -scores
        ids, missing = labels.astype(object), labels < 0
        if missing.any():
            ids[missing] = None
            scores = np.where(missing, np.float32(-np.inf), scores)
        return SearchResults(ids, scores)

    def _marked(self) -> bool:
        """Whether the file ends in unhub's mark, and the spool says the same; a link is never ours."""
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
            return False
        spooled = self._spool.marked if self._spool.exists() else True
        return spooled and (not self.path.exists() or _ends_in_mark(self.path))

    def _create(self, like: FaissIndex, dim: int, metric: Metric) -> None:
        """Notes what index is to be made; the vectors are spooled until ``finish`` trains and builds it."""
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a link; remove it first.")
        if self.path.exists():
            return
        spec = faiss_index.spec_of(like._index()[0], factory=like.address.options.get("index")).resized(dim, metric)
        if not self._spool.exists():
            self._spool.create(spec, marked=True)
        elif self._spool.spec() != spec:
            raise InputError(f"{self._spool.folder} was begun for another kind of index; remove it, export again.")

    def _upsert(self, block: Block) -> None:
        if not self._spool.exists():
            self._spool.create(faiss_index.spec_of(self._index()[0]), marked=self.made_by_unhub())
        self._spool.append(_numbers(block.ids), block.vectors)

    def _delete(self, ids: Sequence[str]) -> None:
        self._deleted.update(ids)  # ``finish`` writes the index without them

    def _finish(self) -> None:
        if not (self._spool.exists() or self._deleted or self._effort_changed):
            self._spool.drop()  # the empty folder that a kill may have left
            return
        index, marked = self._changed_index(), self.made_by_unhub()
        with replace_file(self.path) as temporary:
            faiss_index.faiss.write_index(index, str(temporary))
            if marked:
                with open(temporary, "ab") as file:
                    file.write(MARK)
        _vetted.answer(self.path, "index", lambda: True)  # our own work needs no child process
        self._spool.drop()
        self._deleted.clear()
        self._effort_changed = False
        self._loaded = None

    def _drop(self) -> None:
        self._spool.drop()
        self.path.unlink(missing_ok=True)
        self._loaded = None

    def _spooled_ids(self) -> IntArray:
        return self._spool.ids() if self._spool.exists() else _NO_IDS

    def _changed_index(self) -> Any:
        """The index to write: the one in the file, if any, without what was deleted and with what was spooled."""
        deleted = _numbers(self._deleted)
        if not self.path.exists():
            return faiss_index.build(self._spool.spec(), self._spool, without=deleted)
        index, ids = self._index()
        if not (self._spool.exists() or self._deleted):
            return index
        leaving = np.intersect1d(ids, np.union1d(self._spooled_ids(), deleted))
        spool = self._spool if self._spool.exists() else None
        return faiss_index.removed(index, ids, leaving, spool, self.path, without=deleted)

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
        with self._lock, guarded(self.address, "cannot be read as a faiss index"):
            self._vet(stat.st_size)
            index = faiss_index.faiss.read_index(str(self.path))
            ids = faiss_index.all_ids(index)
            self._refuse_repeats(ids)
            faiss_index.make_reconstructible(index, ids)
            self._loaded = (stamp, index, ids)
        return index, ids

    def _vet(self, size: int) -> None:
        """Lets a child process read the file first: faiss can loop or crash on a damaged one."""

        def ask() -> Any:
            elsewhere = other_file(self.path)
            if elsewhere is not None:
                raise StoreError(
                    f"{self.url} keeps its vectors in another file ({elsewhere[:_REASON]!r}). An index from anybody "
                    f"could name any file, so it is not opened; write an index that holds its lists itself."
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
