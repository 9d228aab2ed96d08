"""How vectors and scores are read: opened and checked once, within a bound of memory, and turned into score blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakSet

import numpy as np

from unhub.core.arrays import is_numpy, is_tensor
from unhub.core.checks import (
    LENGTHEN,
    VectorSurvey,
    check_dimension,
    check_marginal,
    check_scores,
    survey_vectors,
    vector_problems,
)
from unhub.core.execution import Execution, Executor
from unhub.core.plan import TEMPORARIES, block_rows, split_memory, tall_rows
from unhub.dataset.galleries import open_source
from unhub.executors import device_memory, local, memory_bytes
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, Progress, Similarity, Sliceable
from unhub.foundation.wording import argument, setting
from unhub.io import BrainFloats, FileArray, Rows, TensorRows, open_rows, read_ids, read_numbers, with_ids
from unhub.scores import Budget, CachedScores, EmbeddingScores, MatrixScores, ScoreSource
from unhub.stores import Description

GALLERY_SHARE, BANK_SHARE = 3, 8
"""vectors of a file are read whole if they take one part in so many of the memory, or less"""

FITTED = (
    "the correction was fitted on unit vectors, so scale these to unit length too, or fit again with "
    f"{setting('normalize', True)}"
)


class KeptFiles:
    """The arrays that a reader has read whole, while somebody uses them; another process starts with none."""

    def __init__(self) -> None:
        self._arrays: WeakSet[FileArray | BrainFloats] = WeakSet()

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptFiles, ()

    def keep(self, array: FileArray | BrainFloats) -> None:
        """Reads an array whole."""
        array.load()
        self._arrays.add(array)

    @property
    def nbytes(self) -> int:
        """bytes of all of them"""
        return sum(array.nbytes for array in self._arrays)


@dataclass(frozen=True)
class Reader:
    """How vectors and scores are read: the similarity, whether rows are scaled to unit length, and the memory."""

    metric: Similarity = "cosine"
    normalize: bool = False
    memory: str | int | None = None
    fitted: bool = False
    """whether a correction has been fitted this way, so that nothing of it can be chosen any more"""
    tensors: bool = True
    """whether tensors are used where they are; otherwise as arrays in the processor's memory"""
    spent: int = 0
    """bytes of the memory that vectors read whole from files take already"""
    files: KeptFiles = field(default_factory=KeptFiles, compare=False, repr=False)
    """what was read whole, so that one file after another does not fill the memory"""
    executor: Execution | Executor | None = None
    """how to compute: settings of execution, or where shards live"""

    def __post_init__(self) -> None:
        if self.metric not in ("cosine", "ip"):
            raise InputError("metric", f"is {self.metric!r}", "use 'cosine' or 'ip' (inner product)")
        if not isinstance(self.normalize, bool | np.bool_):
            raise InputError("normalize", f"is {self.normalize!r}", "use True or False")
        memory_bytes(self.memory)

    def as_in_store(self, described: Description) -> Reader:
        """The reader with the similarity that a store ranks by, where its vectors leave a choice."""
        as_they_are = described.metric != "cosine" and described.unit is not False and not described.coded
        if self.metric == "ip" or self.normalize or as_they_are:
            return self
        if described.metric == "cosine" or (described.metric == "l2" and described.coded and described.unit):
            return replace(self, normalize=True)
        if described.metric == "ip":
            return replace(self, metric="ip")
        raise InputError(
            f"{argument('targets')}: {described.url} ranks by Euclidean distance and its vectors are not of unit "
            f"length, so that no bias can be added to what it ranks by; store unit vectors."
        )

    def vectors(
        self, source: Any, name: str, *, ids: Any = None, like: Rows | None = None, progress: Progress | None = None
    ) -> Rows:
        """Embeddings, opened and checked; ``like`` is the side whose dimension they must share."""
        return self.checked(named(open_source(source, name=name, progress=progress), ids), like=like)

    def checked(self, rows: Rows, *, like: Rows | None = None) -> Rows:
        """Opened embeddings, read whole where that is cheap, if they can be used; otherwise an error."""
        if like is not None:
            check_dimension(rows, rows.name, like, like.name)
        self.kept(rows, gallery=like is None)
        for problem in self.problems(rows, survey_vectors(rows)):
            raise problem
        return rows

    def problems(self, rows: Rows, survey: VectorSurvey) -> Iterator[InputError]:
        """Everything that is wrong with opened embeddings, from a survey of them."""
        unit = self.metric == "cosine" and not self.normalize
        otherwise = FITTED if self.fitted else LENGTHEN
        return vector_problems(rows, rows.name, survey, unit=unit, ids=rows.ids, otherwise=otherwise)

    def kept(self, rows: Rows, *, gallery: bool = True) -> Rows:
        """The same rows, read into memory if they are a file's and small beside it; others are read block by block.

        They are then read once, and what happens to the file later does not matter. A gallery may take more: every
        block of scores needs the whole of it.
        """
        share = GALLERY_SHARE if gallery else BANK_SHARE
        left = memory_bytes(self.memory) - max(self.spent, self.files.nbytes)
        if isinstance(rows.data, FileArray | BrainFloats) and rows.data.nbytes <= left // share:
            self.files.keep(rows.data)
        return rows

    def beside(self, *sources: Rows | None) -> Reader:
        """The reader with the memory that is left beside these, where they were read whole."""
        taken = sum(kept_bytes(each) for each in sources if each is not None)
        return replace(self, spent=taken) if taken > self.spent else self

    def scores(self, source: Any, name: str) -> Rows:
        """A score matrix, opened and checked."""
        rows = open_rows(source, name=name)
        check_scores(rows, name)
        return rows

    @property
    def scaled(self) -> bool:
        """Whether vectors are divided by their length on the way."""
        return self.normalize and self.metric == "cosine"

    @property
    def _memory(self) -> int:
        return max(1, memory_bytes(self.memory) - self.spent)

    @property
    def _working(self) -> int:
        return split_memory(self._memory)[0]

    @property
    def _at_most(self) -> int | None:
        """rows of a block, where the caller wants so many"""
        return self.executor.block_rows if isinstance(self.executor, Execution) else None

    def budget(self) -> Budget:
        """What the caches of one task may keep between them; as much is left for a method that keeps its own."""
        return Budget(split_memory(self._memory)[1] // 2)

    def execution(self, bank: ScoreSource) -> Execution:
        """How to compute with this bank; its memory as given, or half of what is free where scores are made."""
        free = device_memory(bank.array_like) if self.memory is None else None
        return local(self.executor, memory=self._memory if free is None else free // 2)

    def rows_at_once(self, *galleries: int) -> int:
        """Rows of a block that spans galleries of these sizes side by side."""
        return block_rows(sum(galleries), self._working, self._at_most)

    def products(
        self, queries: Rows, targets: Rows, *, rows: int | None = None, budget: Budget | None = None
    ) -> ScoreSource:
        """Inner products, computed in blocks; those that the budget holds are computed once."""
        left = self.beside(queries, targets)
        height = left.rows_at_once(len(targets)) if rows is None else rows
        tall = tall_rows(len(targets), left._working * 2, self._at_most)
        gallery = self._plain(targets)
        if is_tensor(gallery):  # devices like them tall, but have temporaries too
            height = tall = max(1, tall // TEMPORARIES)
        bank = EmbeddingScores(
            self._plain(queries) if is_tensor(gallery) else plain(queries), gallery, height, self.scaled, tall
        )
        return bank if budget is None else CachedScores(bank, budget)

    def matrix(self, scores: Rows, *, rows: int | None = None) -> ScoreSource:
        """Scores that exist already, read in blocks."""
        columns = scores.shape[1]
        height = self.rows_at_once(columns) if rows is None else rows
        return MatrixScores(self._plain(scores), height, tall_rows(columns, self._working * 2, self._at_most))

    def _plain(self, rows: Rows) -> Sliceable:
        """The tensor behind the rows, where tensors are wanted; otherwise as ``plain``."""
        return rows.data.tensor if self.tensors and isinstance(rows.data, TensorRows) else plain(rows)


def named(rows: Rows, ids: Any) -> Rows:
    """The rows with the ids given beside them, if any."""
    return rows if ids is None else with_ids(rows, read_ids(ids))


def column_ids(ids: Any, columns: int, name: str) -> tuple[str, ...] | None:
    """Ids of a matrix's columns, checked for their number and for repeats."""
    if ids is None:
        return None
    placeholder = Rows(np.empty((columns, 1), dtype=np.float32), name=f"the gallery of {name}")
    return with_ids(placeholder, read_ids(ids)).ids


def kept_bytes(rows: Rows) -> int:
    """Bytes of rows that were read whole from their file, which nobody else can change; 0 for any other."""
    whole = isinstance(rows.data, FileArray | BrainFloats) and rows.data.in_memory is not None
    return rows.data.nbytes if whole else 0  # type: ignore[attr-defined]  # both have it


def plain(rows: Rows) -> Sliceable:
    """The array itself when it is float32 in memory, which needs no conversion; otherwise the rows."""
    data: Any = rows.data.array if isinstance(rows.data, TensorRows) else rows.data
    data = data.in_memory if isinstance(data, FileArray) else data
    return np.asarray(data) if isinstance(data, np.ndarray) and data.dtype == np.float32 else rows


def marginal(values: Any, name: str, size: int, of: str) -> FloatArray | None:
    """Weights as float64, one positive number for each item, or None."""
    if values is None:
        return None
    array = read_numbers(values, name=name)
    check_marginal(array, name, size, of)
    return array.astype(np.float64)


def relative_prior(values: Any, size: int, mean: float | None = None) -> tuple[FloatArray | None, float]:
    """A prior relative to an average target of one, and the average it was divided by."""
    prior = marginal(values, "target_prior", size, "targets")
    if prior is None:
        return None, 1.0
    average = float(prior.mean()) if mean is None else mean
    return prior / average, average


def empty_bank(source: Any, *, axis: int) -> Rows | None:
    """An array without items along an axis: an empty target bank, with which dbsn is sn. None for anything else."""
    shape = tuple(getattr(source, "shape", ()))
    if (is_numpy(source) or is_tensor(source)) and len(shape) == 2 and shape[axis] == 0:
        return Rows(np.empty(shape, dtype=np.float32), name="target_bank")
    return None


def same_rows(rows: Sliceable, name: str, other: Sliceable, other_name: str, axis: Sequence[int] = (0, 0)) -> None:
    """Refuses two matrices that should share an axis and do not."""
    left, right = rows.shape[axis[0]], other.shape[axis[1]]
    if left != right:
        side = ("rows", "columns")
        raise InputError(
            name,
            f"has {left:,} {side[axis[0]]} but {argument(other_name)} has {right:,} {side[axis[1]]}",
            "they must be the same items in the same order",
        )


def refuse_mixture(vectors: Mapping[str, Any], matrices: Mapping[str, Any]) -> None:
    """Stops a call that gives embeddings and matrices of scores for the same thing."""
    embedded = [name for name, value in vectors.items() if value is not None]
    scored = [name for name, value in matrices.items() if value is not None]
    if embedded and scored:
        raise InputError(
            scored[0], f"and {argument(embedded[0])} came together", "give matrices of scores or embeddings, not both"
        )
