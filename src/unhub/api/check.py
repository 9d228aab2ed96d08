"""``check``: a look at data before anything runs: every part, every problem, and what a fit would cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.api.facade import dataset_of, facade
from unhub.api.running import Options
from unhub.core.arrays import is_numpy
from unhub.core.logsumexp import LARGE_TAU
from unhub.core.parameters import Temperature, count, seed_number
from unhub.core.plan import Plan, for_scores, in_words, plan
from unhub.dataset import Dataset, Task
from unhub.dataset.dataset import BANK
from unhub.dataset.reader import same_rows
from unhub.dataset.sources import ARGUMENTS
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.tables import Cell, Table, text
from unhub.foundation.types import Progress, Similarity
from unhub.foundation.wording import Door, argument, in_python, setting, spoken
from unhub.io import Rows
from unhub.methods import COSINE_LIMIT, METHODS, hyper_parameters, method, methods
from unhub.metrics import metric as metric_by_name
from unhub.scores import Spread, spread

SCHEMA_VERSION = 1
SHOWN_PROBLEMS = 8
"""problems in the repr of a check"""
ROUNDS = 10
"""rounds of sn and dbsn"""
PROBE = (1024, 2048)
"""bank rows and targets of the product that is timed; fewer rows if the plan takes fewer at once"""
COMPILED_SHARE = 0.1
"""time of a compiled pass over scores, as a share of NumPy's exponentials of them"""
SHARED_AXES = (("scores", (1, 1)), ("cross_scores", (0, 0)), ("target_scores", (1, 1)))
"""matrices of a bank: which of their axes is which axis of the scores they are read next to"""
DEFAULTS = {"metric": "cosine", "normalize": False, "allow_overlap": False, "allow_empty": False}


@dataclass(frozen=True)
class Part:
    """One array: its shape, type, first id, and where it came from; of vectors also the lengths of the rows."""

    rows: int
    columns: int
    dtype: str
    first_id: str | None
    lengths: tuple[float, float] | None
    """of the shortest and the longest vector"""
    unit: bool | None
    """whether every vector is of unit length"""
    source: str | None

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self.rows, self.columns

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rows": self.rows, "columns": self.columns, "dtype": self.dtype, "ids": self.first_id is not None,
            "lengths": self.lengths, "unit": self.unit, "source": self.source,
        }  # fmt: skip

    def cells(self) -> list[str]:
        """The row of a table."""
        lengths = "" if self.lengths is None else f"{self.lengths[0]:.3g} to {self.lengths[1]:.3g}"
        ids = "" if self.first_id is None else f"{self.first_id} ..."
        return [f"{self.rows:,}", f"{self.columns:,}", self.dtype, lengths, ids, self.source or ""]


@dataclass(frozen=True)
class Cost:
    """What ten rounds of Sinkhorn take: bytes of the whole score matrix, what the plan keeps of it, and seconds."""

    whole_bytes: int
    plan: Plan
    seconds: float
    dim: int | None
    """None where the scores exist already"""

    def __str__(self) -> str:
        product = f"{self.plan.rows:,} x {self.plan.columns:,}" + ("" if self.dim is None else f" x {self.dim}")
        return f"a fit of sn or dbsn reads {product}, {in_words(self.whole_bytes)} of scores, {_duration(self.seconds)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "plan": self.plan.kind, "sentence": str(self.plan), "whole_bytes": self.whole_bytes,
            "kept_bytes": self.plan.kept_bytes, "block_bytes": self.plan.block_bytes, "seconds": self.seconds,
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """What is in the data, what is wrong with it, and what a fit would cost."""

    parts: Mapping[str, Part]
    """every array by its name: "targets", "query_bank"; of an experiment file "test.targets", "banks.val.queries" """
    errors: tuple[UnhubError, ...] = ()
    """everything that a function would refuse"""
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """other files: relevance, ids, captions"""
    spread: Spread | None = None
    """of the scores that a fit reads; ``spread.tau`` is what tau="auto" stands for"""
    relevant: tuple[int, int, int] | None = None
    """pairs, and the fewest and the most relevant targets of a query"""
    media: int | None = None
    """how many targets have a picture, sound or video, where a folder of them was named"""
    targets: int | None = None
    cost: Cost | None = None

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {part.rows:,} x {part.columns:,}" for name, part in self.parts.items())
        more = len(self.errors) - SHOWN_PROBLEMS
        end = [f"and {more:,} more"] if more > 0 else []
        state = "ready" if self.ready else f"{len(self.errors):,} problems"
        return "\n  ".join([f"Check({state}: {parts})", *self.problems[:SHOWN_PROBLEMS], *end])

    @property
    def ready(self) -> bool:
        """Whether nothing is wrong."""
        return not self.errors

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for everything that is wrong: the argument, what came, and what to do."""
        return self.sentences(in_python)

    @property
    def logits(self) -> bool:
        """Whether the scores are too large for cosines."""
        return self.spread is not None and self.spread.largest > COSINE_LIMIT

    def sentences(self, door: Door) -> tuple[str, ...]:
        """The problems in the words of a door, such as the flags of the command line."""
        return tuple(error.sentence(door) for error in self.errors)

    def parts_table(self) -> Table:
        """Every part with its shape, type, lengths, ids and file."""
        rows = [[name, *part.cells()] for name, part in self.parts.items()]
        rows += [[name, "", "", "", "", "", source] for name, source in self.files.items()]
        if self.media is not None:
            rows.append(["media", f"{self.media:,} of {self.targets:,}", "", "", "", "", ""])
        columns = ("part", "rows", "columns", "type", "lengths", "ids", "file")
        return Table("", columns, tuple(tuple(map(Cell, row)) for row in rows), left=(0, 3, 5, 6))

    def facts(self, door: Door = in_python) -> list[str]:
        """Lines about the scores, the relevance, the cost of a fit and everything worth a note."""
        lines = []
        if self.spread is not None:
            lines.append(
                f"scores run from {self.spread.low:.3f} to {self.spread.high:.3f}, standard deviation "
                f"{self.spread.std:.4f}; {setting('tau', 'auto')} is {self.spread.tau:.3g}"
            )
        if self.relevant is not None:
            lines.append("relevant: {:,} pairs, {:,} to {:,} for each query".format(*self.relevant))
        if self.cost is not None:
            lines += [str(self.cost), f"plan: {self.cost.plan}"]
        return [spoken(line, door) for line in (*lines, *(f"note: {note}" for note in self.notes))]

    def table(self, door: Door = in_python) -> str:
        """Everything as text: the parts, the facts, then the problems or "ready"."""
        problems = [f"problem: {each}" for each in self.sentences(door)]
        return "\n".join([text(self.parts_table()), "", *self.facts(door), *(problems or ["ready"])])

    def to_dict(self, door: Door = in_python) -> dict[str, Any]:
        """Plain data."""
        seen, relevant = self.spread, self.relevant
        return {
            "schema_version": SCHEMA_VERSION,
            "ready": self.ready,
            "problems": list(self.sentences(door)),
            "notes": [spoken(note, door) for note in self.notes],
            "files": {name: part.to_dict() for name, part in self.parts.items()},
            "scores": None
            if seen is None
            else {"low": seen.low, "high": seen.high, "std": seen.std, "tau_auto": seen.tau},
            "relevant": None if relevant is None else dict(zip(("pairs", "fewest", "most"), relevant, strict=True)),
            "cost": None if self.cost is None else self.cost.to_dict(),
        }


@facade
def check(
    data: Dataset | str | os.PathLike[str] | None = None,
    *,
    bank: str | None = None,
    queries: Any = None,
    targets: Any = None,
    scores: Any = None,
    relevant: Any = None,
    query_bank: Any = None,
    target_bank: Any = None,
    query_bank_scores: Any = None,
    cross_bank_scores: Any = None,
    target_bank_scores: Any = None,
    query_ids: Any = None,
    target_ids: Any = None,
    query_weight: Any = None,
    target_prior: Any = None,
    metric: Similarity = "cosine",
    normalize: bool = False,
    allow_overlap: bool = False,
    allow_empty: bool = False,
    memory: str | int | None = None,
    tau: Temperature = "auto",
    progress: Progress | None = None,
) -> Check:
    """What is in the data, everything that is wrong with it, and what a fit would cost; nothing is estimated.

    Each array is opened and checked once. A problem is not an error here: all of them come back together.

    data: a Dataset, or the path of an experiment file, in place of the arrays below.
    bank: the bank whose fit is planned; the first by default.
    queries, targets, scores, relevant, query_bank, target_bank, query_bank_scores, cross_bank_scores,
    target_bank_scores, query_ids, target_ids, query_weight, target_prior: as in ``evaluate``; give what you have.
    metric: "cosine" or "ip". normalize: scale vectors to unit length.
    allow_overlap: test queries may be in the bank. allow_empty: queries without a relevant target are left out.
    memory: such as "2GB": what the planned fit may hold at once.
    tau: the temperature of the planned fit; a large one needs scores in float64.
    progress: called while a store is read, with the name of the work, rows read and rows to read.

    Returns a Check: ``check(...).ready``, ``.problems``, ``.parts``, ``.spread``, ``.cost``, ``.table()``.

    >>> looked = check(targets=np.eye(3), query_bank=2 * np.eye(3), relevant=[0, 1, 2])
    >>> looked.parts["targets"].unit, looked.ready
    (True, False)
    >>> print(looked.problems[0])
    query_bank is not of unit length (row lengths run from 2 to 2); pass normalize=True for cosine similarity, or \
metric='ip' to use inner products as they are.
    """
    arrays = {
        "queries": queries, "targets": targets, "scores": scores, "relevant": relevant, "query_bank": query_bank,
        "target_bank": target_bank, "query_bank_scores": query_bank_scores, "cross_bank_scores": cross_bank_scores,
        "target_bank_scores": target_bank_scores, "query_ids": query_ids, "target_ids": target_ids,
        "query_weight": query_weight, "target_prior": target_prior, "metric": metric, "normalize": normalize,
        "allow_overlap": allow_overlap, "allow_empty": allow_empty, "memory": memory,
    }  # fmt: skip
    method("sn", {"tau": tau})  # refuses what is no temperature
    problems = _Problems()
    opened = Dataset.open(data) if isinstance(data, str | os.PathLike) else data
    whole = _dataset(arrays, problems) if opened is None else dataset_of(opened, arrays, DEFAULTS)
    return _Checker(whole, problems, progress).check(bank, tau)


class _Problems:
    """Errors that were collected instead of raised, each once, in the words of the dataset they came from."""

    def __init__(self) -> None:
        self.errors: dict[str, UnhubError] = {}

    def add(self, error: UnhubError, data: Dataset | None = None, bank: str | None = None) -> None:
        worded = error
        if data is not None and data.path is not None:
            worded = InputError(error.sentence(data.door(bank)))
        elif bank not in (None, BANK):
            worded = InputError(f"bank {bank}: {error.args[0]}")
        self.errors.setdefault(str(worded), worded)

    @contextmanager
    def collect(self, data: Dataset, bank: str | None = None) -> Iterator[None]:
        try:
            yield
        except UnhubError as error:
            self.add(error, data, bank)


def _dataset(arrays: dict[str, Any], problems: _Problems) -> Dataset:
    """The dataset of the arrays; arguments that it refuses become problems and are left out."""
    if all(value is None or name in DEFAULTS for name, value in arrays.items()):
        raise InputError(f"check needs arrays or files, such as {argument('targets')} and {argument('query_bank')}.")
    while True:
        try:
            return Dataset(**arrays)
        except InputError as error:
            if error.argument not in arrays:
                raise
            problems.add(error)
            arrays = {name: value for name, value in arrays.items() if name != error.argument}


@dataclass
class _Checker:
    data: Dataset
    problems: _Problems
    progress: Progress | None
    notes: list[str] = field(default_factory=list)
    opened: dict[tuple[str | None, str], Rows] = field(default_factory=dict)
    """by bank and part"""

    def check(self, bank: str | None, tau: Temperature) -> Check:
        data = self.data
        chosen = next(iter(data.banks), None) if bank is None else data.bank_name(bank)
        parts = self._parts()
        sound = not self.problems.errors
        relevant, media = self._relevance(), self._media()
        self._weights()
        self._settings()
        if sound:
            self._tasks()
        task = self._fit_task(chosen) if sound else None
        seen = None if task is None else spread(task.banks.queries)
        if seen is not None:
            self._unsuited(seen)
        shown = data.files()
        return Check(
            parts,
            tuple(self.problems.errors.values()),
            tuple(self.notes),
            {} if data.path is None else {name: at for name, at in shown.items() if name not in parts},
            seen,
            relevant,
            media,
            self._gallery_size(),
            None if task is None or seen is None else _cost(task, tau, seen),
        )

    def _parts(self) -> dict[str, Part]:
        """Every array, opened and checked."""
        data, parts = self.data, {}
        sides = [(None, part) for part in ("targets", "queries", "scores")]
        each_bank = ("queries", "targets", "scores", "cross_scores", "target_scores")
        for bank, part in (*sides, *((bank, part) for bank in data.banks for part in each_bank)):
            if data.source(part, bank) is None:
                continue
            seen = data.inspect(part, bank, progress=self.progress)
            for error in seen.problems:
                self.problems.add(error, data, bank)
            if seen.rows is not None:
                rows = self.opened[bank, part] = seen.rows
                first = None if rows.ids is None else rows.ids[0]
                parts[self._name(part, bank)] = Part(
                    *rows.shape, str(rows.dtype), first, seen.lengths, seen.unit, rows.source
                )
        for bank in data.banks:
            for part, axes in SHARED_AXES:
                self._same_axis(bank, part, axes)
        return parts

    def _name(self, part: str, bank: str | None) -> str:
        if self.data.path is None and bank not in (None, BANK):
            return f"banks.{bank}.{part}"
        return self.data.door(bank)(part if bank is None else ARGUMENTS[part], None)

    def _same_axis(self, bank: str, part: str, axes: tuple[int, int]) -> None:
        """Matrices of a bank that share an axis with its scores, or with those of the test queries."""
        beside = (bank, "scores") if part == "cross_scores" and (bank, "scores") in self.opened else (None, "scores")
        rows, other = self.opened.get((bank, part)), self.opened.get(beside)
        if rows is not None and other is not None:
            with self.problems.collect(self.data, bank):
                same_rows(rows, ARGUMENTS[part], other, other.name, axis=axes)

    def _size(self, axis: int, *names: tuple[str | None, str]) -> int | None:
        return next((self.opened[name].shape[axis] for name in names if name in self.opened), None)

    def _gallery_size(self) -> int | None:
        of_banks = ((bank, "scores") for bank in self.data.banks)
        rows = self._size(0, (None, "targets"))
        return self._size(1, (None, "scores"), *of_banks) if rows is None else rows

    def _relevance(self) -> tuple[int, int, int] | None:
        """How many pairs are relevant, and how many targets for a query; read where both sides could be opened."""
        data = self.data
        if data.source("relevant") is None:
            return None
        if not self._can_evaluate():
            if data.source("scores") is None and (data.source("queries") is None or data.source("targets") is None):
                both = f"{argument('scores')}, or {argument('queries')} and {argument('targets')}"
                self.notes.append(f"relevant was not looked at: it needs {both}.")
            return None
        with self.problems.collect(data):
            relevance = data.relevance()
            assert relevance is not None
            never, gallery = relevance.gallery - np.unique(relevance.targets).size, relevance.gallery
            self.notes += [f"{never:,} of {gallery:,} targets are right for no query."] if never else []
            counts = relevance.counts
            return int(counts.sum()), int(counts.min()), int(counts.max())
        return None

    def _can_evaluate(self) -> bool:
        queries = (None, "targets" if self.data.task_type == "self-retrieval" else "queries")
        return (None, "scores") in self.opened or {(None, "targets"), queries} <= set(self.opened)

    def _media(self) -> int | None:
        """How many targets have media; captions are read along with them."""
        data, named = self.data, ("captions", "target_captions", "media")
        for bank in data.banks:
            with self.problems.collect(data, bank):
                data.bank_names(bank)
        if self._can_evaluate() and any(data.source(part) is not None for part in named):
            with self.problems.collect(data):
                files = data.items()[1].media
                return None if data.source("media") is None else sum(each is not None for each in files)
        return None

    def _weights(self) -> None:
        """One weight for each bank query, and one for each target."""
        data = self.data
        for bank in data.banks:
            size = self._size(0, (bank, "queries"), (bank, "scores"), (None, "queries"), (None, "scores"))
            if size is not None:
                with self.problems.collect(data, bank):
                    data.weights(bank, size)
        if (gallery := self._gallery_size()) is not None:
            with self.problems.collect(data):
                data.prior(gallery)

    def _settings(self) -> None:
        """The settings of an experiment file, as its tables will use them."""
        data, its = self.data, self.data.settings

        def options() -> Options:
            names = tuple(metric_by_name(name).name for name in data.metrics)
            resamples, seed = count("resamples", its.get("resamples", 1000)), seed_number("seed", its.get("seed", 0))
            ties = its.get("ties", "average")
            return Options(names, ties, data.group_targets, data.ignore_self, resamples, seed, False, None)

        given: Any = {name: its[name] for name in hyper_parameters() if name in its}
        for look in (options, lambda: methods(METHODS, given)):
            with self.problems.collect(data), data.words():
                look()

    def _tasks(self) -> None:
        """What an evaluation would refuse: sides that do not fit together, test queries in a bank."""
        data = self.data
        if not self._can_evaluate():
            return
        for bank in (None, *data.banks) if data.path is not None else data.banks or (None,):
            for way in data.directions_of(bank).values() if data.path is not None else ("forward",):
                with self.problems.collect(data, bank):
                    data.task(way, bank)

    def _fit_task(self, bank: str | None) -> Task | None:
        """What a fit would read; None where there is too little for one."""
        names = ((bank, "scores"), (None, "scores"))
        if (None, "targets") in self.opened:
            own = "targets" if self.data.task_type == "self-retrieval" else "queries"
            names = ((bank, "queries"), (None, own))
        if not any(name in self.opened for name in names):
            return None
        with self.problems.collect(self.data, bank):
            return self.data.task("forward", bank, fit=True)
        return None

    def _unsuited(self, seen: Spread) -> None:
        """Scores that are all the same, or no cosines: a problem of an experiment, a note for any other data."""
        data = self.data
        if data.path is not None:
            with self.problems.collect(data):
                refuse_unsuited(data)
        elif seen.largest > COSINE_LIMIT:
            self.notes.append(
                f"the scores run from {seen.low:.3g} to {seen.high:.3g} and look like logits, not cosines; use "
                f"{setting('tau', 'auto')}, or divide them by their logit scale, often 100."
            )


def refuse_unsuited(data: Dataset) -> None:
    """An error where test scores are all the same, or look like logits while the file names no temperature."""
    seen = spread(data.test_scores())
    if seen.low == seen.high:
        raise InputError(f"{data.path}: every test score is {seen.low:.3g}, which ranks nothing; check the files.")
    if "tau" not in data.settings and seen.largest > COSINE_LIMIT:
        raise InputError(
            f"{data.path}: the test scores run from {seen.low:.3g} to {seen.high:.3g} and look like logits, not "
            f"cosines, which the protocol's temperatures are made for; divide them by their logit scale, often 100, or "
            f'write tau = "auto" (about {seen.tau:.2g} here) in the section [settings].'
        )


def _cost(task: Task, tau: Temperature, seen: Spread) -> Cost:
    """The cost of ten rounds of Sinkhorn; dbsn reads the targets of the target bank next to the gallery."""
    banks = task.banks
    bank, execution = banks.queries, banks.execution
    rows, columns = bank.shape[0], bank.shape[1] + (0 if banks.cross is None else banks.cross.shape[1])
    large = not isinstance(tau, str) and tau > LARGE_TAU * seen.largest
    double = large or str(bank.read(0, 1).dtype).endswith("float64")
    compiled = is_numpy(bank.array_like) and not double and execution.kernels((rows, columns)) is not None
    memory = for_scores(execution.bytes)
    chosen = plan(rows, columns, memory, compiled=compiled, number_bytes=8 if double else 4)
    dim = None if task.targets is None else task.targets.shape[1]
    exponentials, products = _seconds_per_score(dim, min(PROBE[0], chosen.block_rows))
    folding = exponentials * (COMPILED_SHARE if compiled else 1)
    seconds = rows * columns * (chosen.products(ROUNDS) * (products + folding) + ROUNDS * 2e-10)
    return Cost(rows * columns * 4, chosen, seconds, dim)


def _seconds_per_score(dim: int | None, height: int) -> tuple[float, float]:
    """Of an exponential and two sums, and of a product of so many rows at once."""
    scores = np.zeros((height, PROBE[1]), dtype=np.float32)
    folding = _timed(lambda: np.exp(scores).sum(axis=0) + np.exp(scores).sum()) / scores.size
    if dim is None:
        return folding, 0.0
    left, right = np.ones((height, dim), dtype=np.float32), np.ones((PROBE[1], dim), dtype=np.float32)
    return folding, _timed(lambda: left @ right.T) / scores.size


def _timed(call: Callable[[], object]) -> float:
    """The fastest of three calls, in seconds."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def _duration(seconds: float) -> str:
    for limit, unit, words in ((1, 1, None), (90, 1, "seconds"), (5400, 60, "minutes"), (np.inf, 3600, "hours")):
        if seconds < limit:
            return "in less than a second" if words is None else f"in roughly {seconds / unit:.0f} {words}"
    raise AssertionError
