"""A session: a dataset ranked again for any view settings, quickly; biases and rankings are cached."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from unhub.analysis.byte_cache import ByteCache
from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.evaluate import UNSEEN
from unhub.api.evaluation import MethodResult
from unhub.api.fitted_vectors import saved_bias
from unhub.api.guard import GuardedBias, estimate_bias
from unhub.api.ranking_pair import RankingPair
from unhub.api.running import Options, measure_method
from unhub.api.verdict import Verdict, given_verdict
from unhub.core.bias import Bias
from unhub.core.parameters import strength_number
from unhub.dataset import TEST_QUERIES, Dataset, Items, Task
from unhub.experiments.protocols import Preset, preset
from unhub.experiments.reproduction import recorded_run
from unhub.experiments.run import RETRIEVAL, Run
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import printable
from unhub.foundation.types import FloatArray, IntArray
from unhub.io.address import SEPARATOR
from unhub.methods import (
    Method,
    ResolvedMethod,
    configure,
    is_additive,
    is_matrix_only,
    method,
    method_classes,
    title_of,
)
from unhub.metrics import Relevance

T = TypeVar("T")
SAVED = "saved"
"""the method of a correction as it was fitted"""
DEPTHS = (1, 3, 5, 10, 20)
"""k: how many of the first places count"""
UNEVEN = tuple(f"{name}@{k}" for name in ("skew", "antihub", "max_n", "gini") for k in DEPTHS)
TEST_CELLS, BANK_CELLS = 6_000_000, 15_000_000
"""scores that are ranked again when a setting changes (5,000 queries x 1,000 targets), and that a bias is fitted on"""
MOST_TASKS = 4
"""tasks that are held; each may hold scores of its own"""
NOUNS = {"image": "images", "video": "videos", "audio": "recordings"}
EXPERIMENTS = (".toml", ".yaml", ".yml")
PARTS = (
    "queries", "scores", "relevant", "targets", "target_bank", "recent", "judged", "judged_queries", "captions",
    "target_captions", "bank_captions", "media",
)  # fmt: skip
"""what can be given with a correction"""
SHOWN = ("captions", "target_captions", "query_ids", "target_ids", "labels", "target_labels")
"""parts of an experiment whose words are shown"""
Wanted = Callable[[], bool]
"""whether a client still waits for the answer"""


class Abandoned(Exception):
    """No client waits for the answer any more, so it was not computed."""


def always() -> bool:
    """A client waits until the end."""
    return True


@dataclass(frozen=True)
class ViewSettings:
    """What a view shows: the direction, the bank, the method with its temperature and strength, and k."""

    direction: str
    bank: str
    method: str
    tau: float | None = None
    """None: the session's"""
    strength: float | None = None
    """None: what the guard supports, or that of a saved correction"""
    k: int = 10


@dataclass(frozen=True, eq=False)
class BankSample:
    """The part of a bank that a session uses."""

    name: str
    size: int
    """queries of the whole bank"""
    rows: IntArray
    """which of them are used"""
    names: Sequence[str] | None
    """what all of its queries say"""
    overlap: int
    """test queries in the whole bank"""
    has_targets: bool = False
    note: str | None = None
    """how much of it is used, where not all is"""
    is_test: bool = False
    """whether its queries are the test queries"""

    @property
    def transductive(self) -> bool:
        """Whether it is, or has some of, the test queries."""
        return self.overlap > 0

    def name_of(self, row: int) -> str:
        """What a query of the whole bank says, or its number."""
        return f"bank query {row}" if self.names is None else self.names[row]


@dataclass(frozen=True, eq=False)
class DirectionSample:
    """One direction of a dataset, or the part of it that can be ranked again in a moment."""

    direction: str
    way: str
    """forward or reverse"""
    data: Dataset
    """the sample"""
    relevance: Relevance
    judged: bool
    """whether relevance is known"""
    size: int
    """queries of the whole direction"""
    queries: Items
    targets: Items
    banks: Mapping[str, BankSample]
    noun: str
    fitted: GuardedBias | None = None
    """the bias of a correction at strength 1"""

    def bank(self, name: str) -> BankSample:
        """The bank of that name."""
        if name not in self.banks:
            raise InputError("bank", f"is {name!r}", f"there are {', '.join(self.banks)}")
        return self.banks[name]


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """The ranking without a correction and with the one of some view settings."""

    settings: ViewSettings
    sample: DirectionSample
    bank: BankSample | None
    """None for a correction whose bank is not in its file"""
    task: Task
    method: Method
    before: MethodResult
    after: MethodResult
    bias: Bias | None
    """at strength 1, also where it is refused"""
    guard: Verdict | None = None
    """at which strength to serve it, and why; None for what is no bias"""
    notes: tuple[str, ...] = ()

    @property
    def pair(self) -> RankingPair:
        """Both rankings with relevance and items."""
        its = self.sample
        return RankingPair(self.before, self.after, its.relevance, its.queries, its.targets)

    @property
    def strength(self) -> float:
        """What the bias is multiplied by here."""
        return 1.0 if self.after.verdict is None else self.after.verdict.strength

    @property
    def shown_bias(self) -> FloatArray | None:
        """What is added, or where nothing is, the bias that would be at strength 1, for inspection."""
        if self.bias is not None and self.strength == 0:
            return self.bias.values
        return self.after.bias

    @property
    def transductive(self) -> bool:
        """Whether the correction has used test queries, as far as that is known."""
        return self.settings.method != "none" and self.bank is not None and self.bank.transductive


@dataclass(eq=False)
class Session:
    """A dataset to look at: by default the whole of it, in a sample where it is large."""

    data: Dataset
    preset: Preset = field(default_factory=preset)
    title: str = ""
    source: str = ""
    """the path of the correction, where it has one"""
    cells: tuple[int, int] = (TEST_CELLS, BANK_CELLS)
    notes: tuple[str, ...] = ()
    cache: ByteCache[Any] = field(default_factory=ByteCache, repr=False)
    _samples: dict[str, DirectionSample] = field(default_factory=dict, init=False, repr=False)
    _tasks: dict[tuple[str, str], Task] = field(default_factory=dict, init=False, repr=False)
    """the last few, by direction and bank"""
    _sampling: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)
    _computing: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def __post_init__(self) -> None:
        data = self.data
        if data.group_targets is not None:
            with data.words():
                raise InputError("group_targets", "merges targets, but single ones are shown", "leave it out")
        self.title = self.title or ", ".join(filter(None, (data.name, data.model))) or "dataset"
        self.run = Run(data, self.preset)
        self.judged = data.has_relevance
        whole = data.lenient()
        if not self.judged:
            queries, gallery = whole.shape
            whole = whole.with_relevance(Relevance.from_sets([()] * queries, gallery, allow_empty=True))
        self.whole = whole
        """the data with relevance, empty where there is none"""
        if data.correction is None:
            self.run.refuse_scores()

    @classmethod
    def open(
        cls, data: Dataset | Correction | str | os.PathLike[str], protocol: str | Preset | None = None, **parts: Any
    ) -> Session:
        """The session of a dataset, a correction, an experiment file, or a folder that ``unhub reproduce`` wrote.

        parts: ``PARTS``, which go with a correction.
        """
        parts = {name: value for name, value in parts.items() if value is not None}
        path = Path(data).expanduser() if isinstance(data, str | os.PathLike) else None
        if path is not None and path.is_dir():
            recorded = recorded_run(path)
            path, protocol = recorded.experiment, protocol or recorded.protocol
        if path is not None and path.suffix.lower() in EXPERIMENTS:
            data = Dataset.open(path)
        if isinstance(data, Dataset):
            if parts:
                raise InputError(
                    next(iter(parts)), "goes with a correction; an experiment names its own parts", "leave it out"
                )
            return cls(data, preset(protocol), notes=_outside(data))
        if path is None and not isinstance(data, Correction):
            raise InputError("data", f"is of type {type(data).__name__}", "give a Dataset, a Correction or a path")
        if protocol is not None:
            raise InputError("protocol", "goes with an experiment; a correction has its own settings", "leave it out")
        correction = data if isinstance(data, Correction) else load(cast(Path, path))
        if correction.fingerprint is None and "scores" not in parts:
            raise InputError("scores", "is missing", "this correction was fitted on scores; give those of test queries")
        title = correction.method.title if path is None else printable(path.stem)
        return cls(Dataset.of(correction, **parts), preset(), title, "" if path is None else str(path))

    @property
    def directions(self) -> tuple[str, ...]:
        """The names of the directions."""
        return tuple(self.data.directions_of())

    @property
    def seed(self) -> int:
        """Of everything that is drawn."""
        return int(self.data.settings.get("seed", 0))

    @property
    def ties(self) -> str:
        """How equal scores rank."""
        return str(self.data.settings.get("ties", self.preset.ties))

    @property
    def fitted_on(self) -> str | None:
        """The bank of the correction, where it is in its file."""
        correction = self.data.correction
        if correction is None or self.data.kind == "scores" or correction.query_bank is None:
            return None
        return next(iter(self.data.banks), TEST_QUERIES)

    def way(self, direction: str) -> str:
        """Forward or reverse, of the name of a direction."""
        ways = self.data.directions_of()
        if direction not in ways:
            raise InputError("direction", f"is {direction!r}", f"use {' or '.join(ways)}")
        return ways[direction]

    def noun(self, direction: str) -> str:
        """What the targets of a direction are called."""
        if not self.data.modality:
            return "targets"
        return "texts" if self.way(direction) == "reverse" else NOUNS[self.data.modality]

    def banks(self, direction: str) -> list[str]:
        """The banks that serve a direction, and the test queries."""
        own = [name for name in self.data.banks if direction in self.data.directions_of(name)]
        return [*own, TEST_QUERIES]

    def method(self, name: str, direction: str, bank: str) -> Method:
        """A method as it is used with a bank; that of a correction has its settings."""
        if self.data.correction is None:
            return self.run.method(name, self.way(direction), banked=bank != TEST_QUERIES)
        own = cast(Method, self.data.correction.method)
        return own if name in (SAVED, own.name) else method(name)

    def methods_of(self, direction: str, bank: str) -> list[str]:
        """The methods that can be shown with a bank, but for slow ones and those that need all queries at once."""
        own = self.data.correction is not None and self.fitted_on in (None, bank)
        has_targets = bank != TEST_QUERIES and self.data.banks[bank].has_targets
        return [SAVED] * own + [
            name
            for name, each in method_classes().items()
            if each.live and not each.audit and not is_matrix_only(each) and (has_targets or not each.requires)
        ]

    def sample(self, direction: str) -> DirectionSample:
        """One direction, sampled at the first call, whichever thread asks."""
        self.way(direction)
        with self._sampling:
            if direction not in self._samples:
                self._samples[direction] = self._draw(direction)
            return self._samples[direction]

    def _draw(self, direction: str) -> DirectionSample:
        way = self.way(direction)
        part = self.whole.sample(self.cells[0], self.seed, direction=way, bank_cells=self.cells[1])
        queries, targets = part.items(way)
        relevance = part.relevance(way)
        assert relevance is not None
        banks = {}
        for name in self.banks(direction):
            has_targets = name != TEST_QUERIES and self.data.banks[name].has_targets
            own = name != TEST_QUERIES and self.data.banks[name].own_queries
            asking = "targets" if way == "reverse" else "queries"
            rows = part.drawn[f"banks.{name}.{asking}" if own else asking]
            captions = self.whole.items(way)[0].names if not own else None
            captions = self.whole.bank_names(name) if own and way == "forward" else captions
            first = self.whole.rows("scores" if self.data.kind == "scores" else asking, name) if own else None
            size = len(rows) if first is None else len(first)
            overlap, note = self.whole.overlap(name, way), part.bank_notes.get(name)
            banks[name] = BankSample(name, size, rows, captions, overlap, has_targets, note, is_test=not own)
        size = self.data.shape[1 if way == "reverse" else 0]
        folder = self.data.media_folder
        queries, targets = (
            replace(each, media=[one if one and folder and one.inside(folder) else None for one in each.media])
            for each in (queries, targets)
        )
        judged = self.judged and bool(relevance.judged().any())
        correction = self.data.correction
        fitted = None if correction is None else saved_bias(correction, part.drawn["targets"])
        return DirectionSample(
            direction, way, part, relevance, judged, size, queries, targets, banks, self.noun(direction), fitted
        )

    def before_after(self, settings: ViewSettings, wanted: Wanted = always) -> BeforeAfter:
        """Both rankings, computed or cached; an error where the settings name what is not there.

        ``wanted`` is called between the bias and the rankings; once no client waits, this ends with ``Abandoned``.
        """
        sample = self.sample(settings.direction)
        bank: BankSample | None = sample.bank(settings.bank)
        if settings.k not in DEPTHS:
            raise InputError("k", f"is {settings.k}", f"choose one of {', '.join(map(str, DEPTHS))}")
        available = self.methods_of(settings.direction, settings.bank)
        if settings.method not in available:
            raise InputError("method", f"is {settings.method!r}", f"with this bank there are {', '.join(available)}")
        if settings.strength is not None:
            strength_number("strength", settings.strength)
        chosen, known, notes = self._estimate(sample, settings, wanted)
        guarded = self._estimate(sample, replace(settings, strength=None), wanted)[1]
        served = known
        if known is not None and settings.strength is not None:
            served = replace(known, verdict=given_verdict(settings.strength))
        before = self._rank(sample, settings, method("none"), None, wanted)
        after = before if settings.method == "none" else self._rank(sample, settings, chosen, served, wanted)
        if settings.method == SAVED:
            bank = None if self.fitted_on is None else bank
            notes = (UNSEEN,) if bank is None else ()
        elif settings.method != "none" and bank is not None and bank.note is not None:
            notes = (bank.note, *notes)
        task = self.task_of(chosen, settings.direction, settings.bank)
        bias = None if known is None else known.bias
        guard = None if guarded is None or settings.method == "none" else guarded.verdict
        return BeforeAfter(settings, sample, bank, task, chosen, before, after, bias, guard, notes)

    def task(self, direction: str, bank: str) -> Task:
        """What methods run on: the sample of a direction with a bank."""
        with self._computing:
            key, sample = (direction, bank), self.sample(direction)
            task = self._tasks.pop(key, None) or sample.data.task(sample.way, None if bank == TEST_QUERIES else bank)
            self._tasks[key] = task  # the newest is last
            while len(self._tasks) > MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
            return task

    def task_of(self, chosen: Method, direction: str, bank: str) -> Task:
        """What a method learns from: each different bank query once where the guard chooses its strength."""
        return self.task(direction, bank).learned_by(chosen)

    def _estimate(
        self, sample: DirectionSample, settings: ViewSettings, wanted: Wanted
    ) -> tuple[Method, GuardedBias | None, tuple[str, ...]]:
        """The method as it is used, its bias with the verdict on it where it is one, and notes.

        The temperature does not depend on the strength: whoever moves one keeps the other. Nor does the bias, unless
        the bank repeats queries, which count once only where the guard chooses the strength.
        """
        asked = self.method(settings.method, settings.direction, settings.bank)
        own = {} if settings.strength is None else {"strength": settings.strength}
        if settings.method == SAVED:
            return configure(asked, own), sample.fitted, ()
        if settings.tau is not None:
            if asked.temperature is None:
                raise InputError("tau", f"is {settings.tau:g}, but {asked.name} has no temperature", "leave it out")
            asked = asked.at(settings.tau)
        usual = self.task_of(asked, settings.direction, settings.bank)
        same = not own or not usual.duplicate_share

        def estimate() -> tuple[ResolvedMethod, GuardedBias | None]:
            resolved = self.task(settings.direction, settings.bank).resolve(asked)
            chosen = resolved.method if same else configure(resolved.method, own)
            if not is_additive(chosen):
                return resolved, None
            return resolved, estimate_bias(chosen, self.task_of(chosen, settings.direction, settings.bank))

        key = ("bias", settings.direction, settings.bank, settings.method, settings.tau, same)
        resolved, known = self._once(key, estimate, wanted)
        return configure(resolved.method, own), known, resolved.notes + (() if known is None else known.notes)

    def _rank(
        self, sample: DirectionSample, settings: ViewSettings, chosen: Method, known: GuardedBias | None, wanted: Wanted
    ) -> MethodResult:
        bank = settings.bank if chosen.name != "none" else next(iter(sample.banks))
        metrics = (*(RETRIEVAL if sample.judged else ()), *UNEVEN)
        options = Options(metrics, self.ties, None, self.data.ignore_self, 1, self.seed, False, None)
        key = ("ranking", settings.direction, bank, chosen, settings.method == SAVED)

        def rank() -> MethodResult:
            task = self.task(settings.direction, bank)
            return measure_method(chosen.name, ResolvedMethod(chosen), task, options, known)[0]

        return self._once(key, rank, wanted)

    def _once(self, key: Hashable, make: Callable[[], T], wanted: Wanted) -> T:
        """What is cached under the key, or made now; one at a time, since each takes all cores."""
        with self._computing:
            cached = self.cache.get(key)
            if cached is None:
                if not wanted():
                    raise Abandoned
                cached = make()
                self.cache.put(key, cached)
            return cast(T, cached)


def temperature(which: Method) -> float | None:
    """The temperature of a method, where it is a number."""
    return float(which.temperature) if isinstance(which.temperature, int | float) else None


def listed_name(label: str, which: str) -> str:
    """The title of a method in a list where a saved correction is beside its own method fitted anew.

    >>> listed_name("saved", "dbsn"), listed_name("none", "none")
    ('DBSN as saved', 'no correction')
    """
    return f"{title_of(which)} as saved" if label == SAVED else title_of(label)


def _outside(data: Dataset) -> tuple[str, ...]:
    """A note on texts and media outside the folder of an experiment file: it may come from someone else."""
    if data.path is None:
        return ()
    home = data.path.parent.resolve()
    shown = {key: at for key, at in data.files().items() if key.rpartition(".")[2] in SHOWN}
    if data.media_folder is not None:
        shown["test.media"] = str(data.media_folder)
    places = {key: Path(at.partition(SEPARATOR)[0]).resolve() for key, at in shown.items()}
    outside = [f"{key} ({place})" for key, place in places.items() if not place.is_relative_to(home)]
    if not outside:
        return ()
    return (f"{data.path} shows texts or media from outside its folder: {', '.join(outside)}; check before sharing.",)
