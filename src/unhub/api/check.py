"""``check``: a look at data before anything runs: every part, every problem, and what a fit would cost."""

from __future__ import annotations

import os
import timeit
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from unhub.api.facade import dataset_of, facade
from unhub.api.running import Options
from unhub.core.arrays import is_numpy
from unhub.core.logsumexp import LARGE_TAU
from unhub.core.parameters import Temperature, count, seed_number
from unhub.core.plan import Plan, for_scores, in_words, plan
from unhub.dataset import Dataset, Task
from unhub.dataset.bank_audit import (
    Finding,
    bank_findings,
    duplicate_findings,
    language_findings,
    own_gallery,
    size_findings,
)
from unhub.dataset.dataset import BANK
from unhub.dataset.evidence import FRESH
from unhub.dataset.reader import same_rows
from unhub.dataset.sources import ARGUMENTS
from unhub.dataset.traffic import Traffic, traffic_of
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.tables import Cell, Table, text
from unhub.foundation.types import Progress, Similarity
from unhub.foundation.wording import Door, argument, in_python, setting, spoken
from unhub.io import Rows
from unhub.methods import COSINE_LIMIT, METHODS, hyper_parameters, method, methods
from unhub.metrics import metric as metric_by_name
from unhub.scores import Spread, spread

P = ParamSpec("P")
T = TypeVar("T")

SCHEMA_VERSION = 1
SHOWN_PROBLEMS = 8
"""problems in the repr of a check"""
ROUNDS = 10
"""rounds of sn and dbsn"""
PROBE = (1024, 2048)
"""bank rows and targets of the product that is timed; fewer rows if the plan takes fewer at once"""
COMPILED_SHARE = 0.1
"""time of a compiled pass over scores, as a share of NumPy's exponentials of them"""
SHARED_AXES = {"scores": 1, "cross_scores": 0, "target_scores": 1}
"""matrix of a bank -> the axis that it shares: columns are the test gallery, rows the bank's queries"""
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
        return asdict(self) | {"ids": self.first_id is not None}

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
    findings: tuple[Finding, ...] = ()
    """what looks wrong with the bank, each with what to do"""
    files: Mapping[str, str] = field(default_factory=dict)
    """other files: relevance, ids, captions"""
    spread: Spread | None = None
    """of the scores that a fit reads; ``spread.tau`` is what tau="auto" stands for"""
    relevant: tuple[int, int, int] | None = None
    """pairs, and the fewest and the most relevant targets of a query"""
    media: str | None = None
    """how many targets have a picture, sound or video, where a folder of them was named: "3 of 40" """
    cost: Cost | None = None
    traffic: Traffic | None = None
    """whether the bank looks like a log with popular targets; None without a bank"""

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
            rows.append(["media", self.media, "", "", "", "", ""])
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
        lines += [] if self.traffic is None else [self.traffic.sentence]
        notes = (*self.notes, *(each.sentence for each in self.findings))
        return [spoken(line, door) for line in (*lines, *(f"note: {note}" for note in notes))]

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
            "findings": [{"kind": each.kind, "sentence": spoken(each.sentence, door)} for each in self.findings],
            "files": {name: part.to_dict() for name, part in self.parts.items()},
            "scores": None
            if seen is None
            else {"low": seen.low, "high": seen.high, "std": seen.std, "tau_auto": seen.tau},
            "relevant": None if relevant is None else dict(zip(("pairs", "fewest", "most"), relevant, strict=True)),
            "cost": None if self.cost is None else self.cost.to_dict(),
            "traffic": None
            if self.traffic is None
            else self.traffic.to_dict() | {"sentence": spoken(self.traffic.sentence, door)},
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
    recent: Any = None,
    judged: Any = None,
    judged_queries: Any = None,
    clicks: Any = None,
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
    target_bank_scores, query_ids, target_ids, query_weight, target_prior, recent, judged, judged_queries: as in
    ``evaluate``; give what you have.
    clicks: which targets were clicked for which bank query; they tell whether some targets are popular.
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
    arrays = {name: value for name, value in locals().items() if name not in ("data", "bank", "tau", "progress")}
    method("sn", {"tau": tau})  # refuses what is no temperature
    if isinstance(data, str | os.PathLike):
        data = Dataset.open(data)
    whole, refused = _dataset(arrays) if data is None else (dataset_of(check, {**arrays, "data": data}), [])
    return _Checker(whole, progress, refused).check(bank, tau)


def _dataset(arrays: dict[str, Any]) -> tuple[Dataset, list[UnhubError]]:
    """The dataset of the arrays without those arguments that it refuses, and why it does."""
    if all(value is None or name in DEFAULTS for name, value in arrays.items()):
        raise InputError(f"check needs files or arrays, such as {argument('targets')} and {argument('query_bank')}.")
    refused: list[UnhubError] = []
    while True:
        try:
            return Dataset(**arrays), refused
        except InputError as error:
            if error.argument not in arrays:
                raise
            refused.append(error)
            arrays = {name: value for name, value in arrays.items() if name != error.argument}


@dataclass
class _Checker:
    """Collects what is wrong instead of stopping at the first error."""

    data: Dataset
    progress: Progress | None
    errors: list[UnhubError]
    notes: list[str] = field(default_factory=list)
    opened: dict[tuple[str | None, str], Rows] = field(default_factory=dict)
    """by bank and part"""

    def tried(self, bank: str | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What the call returns, or None and one problem more."""
        try:
            return call(*args, **kwargs)
        except UnhubError as error:
            self.add(bank, error)
            return None

    def add(self, bank: str | None, error: UnhubError) -> None:
        """One problem more, in the words of the experiment file or of Python."""
        if self.data.path is not None:
            error = InputError(error.sentence(self.data.door(bank)))
        elif bank not in (None, BANK):
            error = InputError(f"bank {bank}: {error.args[0]}")
        if str(error) not in map(str, self.errors):
            self.errors.append(error)

    def check(self, bank: str | None, tau: Temperature) -> Check:
        data = self.data
        chosen = next(iter(data.banks), None) if bank is None else data.bank_name(bank)
        parts = self.parts()
        sound, evaluable = not self.errors, self.has((None, "scores")) or self.has((None, "targets"), self.queries)
        relevant, media = (self.relevance(), self.media()) if evaluable else (None, None)
        if data.source("relevant") is not None and not evaluable and sound:
            both = f"{argument('scores')}, or {argument('queries')} and {argument('targets')}"
            self.notes.append(f"relevant was not looked at: it needs {both}.")
        self.weights()
        self.settings()
        if sound and evaluable:
            self.tasks()
        matrix = self.has((chosen, "scores")) or self.has((None, "scores"))
        vectors = self.has((None, "targets")) and (self.has((chosen, "queries")) or self.has(self.queries))
        task = self.tried(chosen, data.task, "forward", chosen, fit=True) if sound and (matrix or vectors) else None
        seen = None if task is None else spread(task.banks.queries)
        if seen is not None:
            self.unsuited(seen)
        findings = () if task is None else self.findings(task, chosen)
        cost = None if task is None or seen is None else _cost(task, tau, seen)
        others = {} if data.path is None else {name: at for name, at in data.files().items() if name not in parts}
        traffic = None if task is None or task.own_bank or self.data.ignore_self else self.traffic(task, chosen)
        return Check(
            parts, tuple(self.errors), tuple(self.notes), findings, others, seen, relevant, media, cost, traffic
        )

    @property
    def queries(self) -> tuple[str | None, str]:
        return None, "targets" if self.data.task_type == "self-retrieval" else "queries"

    def has(self, *names: tuple[str | None, str]) -> bool:
        return all(name in self.opened for name in names)

    def parts(self) -> dict[str, Part]:
        """Every array, opened and checked, and the axes that matrices share."""
        data, parts = self.data, {}
        each_bank = ("queries", "targets", "scores", "cross_scores", "target_scores")
        of_banks = ((bank, part) for bank in data.banks for part in each_bank)
        whole = ((None, part) for part in ("targets", "queries", "scores", *FRESH))
        for bank, part in (*whole, *of_banks):
            if data.source(part, bank) is None:
                continue
            seen = data.inspect(part, bank, progress=self.progress)
            for error in seen.problems:
                self.add(bank, error)
            if (rows := seen.rows) is not None:
                self.opened[bank, part] = rows
                name = data.door(bank)(part if bank is None else ARGUMENTS[part], None)
                name = f"banks.{bank}.{part}" if data.path is None and bank not in (None, BANK) else name
                first = None if rows.ids is None else rows.ids[0]
                parts[name] = Part(*rows.shape, str(rows.dtype), first, seen.lengths, seen.unit, rows.source)
        for bank in data.banks:
            own = self.opened.get((bank, "scores"), self.opened.get((None, "scores")))
            for part, axis in SHARED_AXES.items():
                rows, other = self.opened.get((bank, part)), own if axis == 0 else self.opened.get((None, "scores"))
                if rows is not None and other is not None:
                    self.tried(bank, same_rows, rows, ARGUMENTS[part], other, other.name, axis=(axis, axis))
        return parts

    def relevance(self) -> tuple[int, int, int] | None:
        """How many pairs are relevant, and the fewest and the most targets of a query."""
        relevance = self.tried(None, self.data.relevance)
        if relevance is None:
            return None
        never = relevance.gallery - np.unique(relevance.targets).size
        self.notes += [f"{never:,} of {relevance.gallery:,} targets are relevant to no query."] if never else []
        counts = relevance.counts
        return int(counts.sum()), int(counts.min()), int(counts.max())

    def media(self) -> str | None:
        """How many targets have media; captions are read along with them."""
        data = self.data
        for bank in data.banks:
            self.tried(bank, data.bank_names, bank)
        if all(data.source(part) is None for part in ("captions", "target_captions", "media")):
            return None
        sides = self.tried(None, data.items)
        if sides is None or data.source("media") is None:
            return None
        files = sides[1].media
        return f"{sum(each is not None for each in files):,} of {len(files):,}"

    def weights(self) -> None:
        """One weight for each bank query, and one for each target."""
        data, opened = self.data, self.opened
        for bank in data.banks:
            names = (bank, "queries"), (bank, "scores"), (None, "queries"), (None, "scores")
            size = next((len(opened[name]) for name in names if name in opened), None)
            if size is not None:
                self.tried(bank, data.weights, bank, size)
        sizes = [len(opened[name]) for name in ((None, "targets"),) if name in opened]
        sizes += [rows.shape[1] for (_, part), rows in opened.items() if part == "scores"]
        if sizes:
            self.tried(None, data.prior, sizes[0])

    def settings(self) -> None:
        """The settings of an experiment file, as its tables will use them."""
        its = self.data.settings
        hyper: Any = {name: its[name] for name in hyper_parameters() if name in its}
        self.tried(None, methods, METHODS, hyper)
        for name in self.data.metrics:
            self.tried(None, metric_by_name, name)
        ties, grouped, masked = its.get("ties", "average"), self.data.group_targets, self.data.ignore_self
        self.tried(None, Options, ("R@1",), ties, grouped, masked, resamples=1, seed=0, lenient=False, progress=None)
        self.tried(None, count, "resamples", its.get("resamples", 1000))
        self.tried(None, seed_number, "seed", its.get("seed", 0))

    def tasks(self) -> None:
        """What an evaluation would refuse: sides that do not fit together, test queries in a bank."""
        data = self.data
        in_file = data.path is not None
        for bank in (None, *data.banks) if in_file else data.banks or (None,):
            for way in data.directions_of(bank).values() if in_file else ("forward",):
                self.tried(bank, data.task, way, bank)

    def findings(self, task: Task, bank: str | None) -> tuple[Finding, ...]:
        """What looks wrong with the bank; a bank that is the gallery is a problem, as it is for a fit."""
        task = replace(task, masked=self.data.ignore_self)
        own = self.tried(bank, own_gallery, task, judged=True) or ()
        return (*own, *size_findings(task), *duplicate_findings(task), *bank_findings(task), *self.languages(bank))

    def languages(self, bank: str | None) -> tuple[Finding, ...]:
        """Whether the bank is in another script than the queries, or than the targets where those have no texts."""
        data = self.data
        texts = None if bank is None else self.tried(bank, data.bank_names, bank)
        named = [part for part in ("captions", "target_captions") if data.source(part) is not None]
        sides = self.tried(None, data.items) if texts is not None and named and self.has(self.queries) else None
        if texts is None or sides is None:
            return ()
        asked = named[0] == "captions"
        return language_findings(texts, sides[0 if asked else 1].names, "queries" if asked else "targets")

    def traffic(self, task: Task, bank: str | None) -> Traffic | None:
        """Whether the bank looks like a log with popular targets."""
        clicked, rows = self.data.source("clicks") is not None, task.banks.queries.shape[0]
        clicks = self.tried(bank, self.data.clicked, bank, rows) if clicked else None
        return None if clicked and clicks is None else traffic_of(task, clicks)

    def unsuited(self, seen: Spread) -> None:
        """Scores that are all the same, or no cosines: a problem of an experiment, a note about any other data."""
        data, scale = self.data, "divide them by their logit scale, often 100"
        tested = seen if data.path is None else self.tried(None, lambda: spread(data.test_scores())) or seen
        low, high = f"{tested.low:.3g}", f"{tested.high:.3g}"
        logits = f"the scores run from {low} to {high} and look like logits, not cosines"
        if data.path is None:
            if seen.largest > COSINE_LIMIT:
                self.notes.append(f"{logits}; use {setting('tau', 'auto')}, or {scale}.")
        elif tested.low == tested.high:
            self.add(None, InputError(f"{data.path}: every test score is {low}, which ranks nothing; check the files."))
        elif "tau" not in data.settings and tested.largest > COSINE_LIMIT:
            auto = f"{setting('tau', 'auto')}, which is about {tested.tau:.2g} here"
            self.add(
                None, InputError(f"{data.path}: {logits}, for which published temperatures are; {scale}, or {auto}.")
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
    return min(timeit.repeat(call, number=1, repeat=3))


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "in less than a second"
    if seconds < 90:
        return f"in roughly {seconds:.0f} seconds"
    return f"in roughly {seconds / 60:.0f} minutes" if seconds < 5400 else f"in roughly {seconds / 3600:.0f} hours"
