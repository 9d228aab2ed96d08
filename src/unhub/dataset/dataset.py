"""``Dataset``: the user's data, once: addresses or arrays, opened lazily, checked once, picklable by address."""

from __future__ import annotations

import copy
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

from unhub.core.arrays import unit_rows
from unhub.core.execution import Execution, Executor
from unhub.core.near_copies import shared_rows
from unhub.core.parameters import count, optional_count, seed_number
from unhub.dataset.evidence import FRESH
from unhub.dataset.experiment_file import BANK_KEYS, HYPER_PARAMETERS, MODALITIES, file_door, read_experiment
from unhub.dataset.galleries import Permuted, open_source, open_store_rows, take
from unhub.dataset.inspection import Inspection, inspect_matrix, inspect_vectors
from unhub.dataset.items import Items, read_captions, read_items
from unhub.dataset.reader import Reader, column_ids, empty_bank, marginal, named, refuse_mixture, relative_prior
from unhub.dataset.sources import (
    ALIGNED,
    ARGUMENTS,
    LABELS,
    NO_BANK,
    Bank,
    Labels,
    is_clicks,
    portable,
    relevance_source,
)
from unhub.dataset.task import Task, score_task, vector_task
from unhub.foundation.errors import InputError
from unhub.foundation.facade import facade
from unhub.foundation.types import FloatArray, IntArray, Progress, Similarity
from unhub.foundation.wording import Door, argument, did_you_mean, in_python
from unhub.io import Rows, read_numbers, read_relevance
from unhub.metrics import Relevance
from unhub.scores import ScoreSource
from unhub.stores import is_address

T = TypeVar("T")
BANK = "bank"
"""the name of the bank that is given by the short arguments: query_bank, target_bank, ..."""
TEST_QUERIES = "test queries"
"""the bank of whoever has none: the test queries themselves"""
FITTED_BANK = "query bank"
"""the bank that a correction was fitted on"""
ARRAYS = (
    "queries", "targets", "scores", "relevant", "query_ids", "target_ids", "captions", "target_captions", "media",
    "target_prior", "recent", "judged", "judged_queries", "clicks",
)  # fmt: skip
"""fields that are addresses or arrays"""
OWN_IDS = {"queries": "query_ids", "targets": "target_ids"}
VARIANTS = itertools.count()
"""numbers for relevance that replaces a dataset's own"""
BANK_PARTS = {part: BANK_KEYS[name] for part, name in ARGUMENTS.items()}
"""part of a bank -> its key in an experiment file"""


def _key(part: str, bank: str | None = None) -> tuple[str, ...]:
    """Where a part is held once it is opened."""
    return (part,) if bank is None else ("bank", bank, part)


class Dataset:
    """Queries, targets, what is right, and named banks: all that unhub's functions run on.

    Every array argument takes an address (a path, ``file.npz::key``, for targets also a store), an array, a memory map
    or a torch tensor. Nothing is opened before it is needed; each array is opened and checked once.

    queries: (query, dim) embeddings of the test queries.
    targets: (gallery, dim) embeddings of the gallery.
    scores: (query, gallery) instead of both, for models without embeddings.
    relevant: which targets are right: an int array (query -> target), a list of sets, pairs of ids, a path, or
        "aligned" (query i means target i).
    banks: name -> Bank.
    query_ids, target_ids: ids, where the arrays have none of their own.
    captions, target_captions: what queries and targets say, one line each.
    media: a folder with a picture, sound or video per target, named by its id.
    target_prior: (gallery,) how often each target is expected; "clicks": as often as it was clicked.
    recent: (recent, dim) queries that are asked now, to judge a correction by; beside ``scores`` a matrix.
    judged: which targets are right for which recent query, as ``relevant``; -1 where nobody has judged.
    judged_queries: (judged, dim) the queries of ``judged``, where they are not the recent ones.
    clicks: which targets were clicked for which bank query, as ``relevant``.
    own_log: the bank is a log of this gallery's own traffic.
    duplicates: of a bank query, with strength="auto": "drop" counts each different query once, "weigh" as often as it
        comes.
    metric: "cosine" or "ip". normalize: scale vectors to unit length.
    ignore_self: query i is target i, and does not count for itself.
    allow_overlap: test queries may be in a bank. allow_empty: queries without a right target are left out.
    group_targets: "max" counts targets of the same query as one.
    memory: bound for blocks of scores, such as "2GB".
    name, model, modality, task_type, directions, metrics, settings, path: what an experiment file says.
    query_bank, target_bank, query_weight, query_bank_scores, cross_bank_scores, target_bank_scores: short for
        ``banks={"bank": Bank(...)}``.

    >>> data = Dataset(scores=np.array([[0.9, 0.1], [0.8, 0.2]]), relevant=[0, 1])
    >>> data.kind, data.shape, data.task().transductive
    ('scores', (2, 2), True)
    """

    @facade
    def __init__(
        self,
        *,
        queries: Any = None,
        targets: Any = None,
        scores: Any = None,
        relevant: Any = None,
        banks: Mapping[str, Bank] | None = None,
        query_ids: Any = None,
        target_ids: Any = None,
        captions: Any = None,
        target_captions: Any = None,
        media: Any = None,
        target_prior: Any = None,
        recent: Any = None,
        judged: Any = None,
        judged_queries: Any = None,
        clicks: Any = None,
        own_log: bool = False,
        duplicates: Literal["drop", "weigh"] = "drop",
        metric: Similarity = "cosine",
        normalize: bool = False,
        ignore_self: bool = False,
        allow_overlap: bool = False,
        allow_empty: bool = False,
        group_targets: Literal["max"] | None = None,
        memory: str | int | None = None,
        name: str = "",
        model: str = "",
        modality: str = "",
        task_type: str = "retrieval",
        directions: Sequence[str] = ("forward", "reverse"),
        metrics: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        path: Path | None = None,
        query_bank: Any = None,
        target_bank: Any = None,
        query_weight: Any = None,
        query_bank_scores: Any = None,
        cross_bank_scores: Any = None,
        target_bank_scores: Any = None,
    ) -> None:
        if not isinstance(banks or {}, Mapping):
            raise InputError("banks", f"is of type {type(banks).__name__}", "give a mapping, {name: Bank(...)}")
        short = Bank(query_bank, target_bank, query_weight, query_bank_scores, cross_bank_scores, target_bank_scores)
        self.banks: dict[str, Bank] = dict(banks or {}) | ({} if short.empty else {BANK: short})
        arguments = locals()
        self._sources: dict[str, Any] = {part: arguments[part] for part in ARRAYS}
        if isinstance(relevant, str) and relevant.startswith(LABELS):
            self._sources["relevant"] = Labels.parse(relevant)
        self.name, self.model, self.modality, self.task_type = name, model, modality, task_type
        self.directions, self.metrics = tuple(directions), tuple(metrics)
        self.settings, self.path = dict(settings or {}), path
        self.ignore_self = ignore_self or task_type == "self-retrieval"
        self.own_log, self.duplicates = own_log, duplicates
        if duplicates not in ("drop", "weigh"):
            raise InputError("duplicates", f"is {duplicates!r}", "use 'drop' or 'weigh'")
        self.allow_overlap, self.allow_empty, self.group_targets = allow_overlap, allow_empty, group_targets
        self.correction: Any = None
        self.asks_bank = False
        """whether its queries are those of the correction's bank"""
        self.notes: tuple[str, ...] = ()
        """sentences about it: what a sample leaves out, whose queries are asked"""
        self.drawn: dict[str, IntArray] = {}
        """of a sample: which rows of the whole are here, by "queries", "targets", "banks.val.queries", ..."""
        self.bank_notes: dict[str, str] = {}
        """of a sample: how much of a bank is here, by its name, where not all is"""
        self._shard, self._variant = (0, 1), "own"
        self._own_reader = Reader(metric, normalize, memory, tensors=False)
        self._refuse_names()
        self._refuse_mixture()
        self._start()

    def _start(self) -> None:
        self._opened: dict[tuple[str, ...], Any] = {}
        self._lock = threading.RLock()

    def _refuse_names(self) -> None:
        for name, bank in self.banks.items():
            if name in ("", TEST_QUERIES):
                raise InputError("banks", f"has the name {name!r}, which is taken", "give the bank another name")
            if not isinstance(bank, Bank):
                came = f"has for {name} a value of type {type(bank).__name__}"
                raise InputError("banks", came, "give a Bank, such as unhub.dataset.Bank(queries)")
            if bank.empty:
                raise InputError("banks", f"has nothing in {name}", "give it queries")
        if self.modality and self.modality not in MODALITIES:
            hint = did_you_mean(self.modality, MODALITIES, f"use one of {', '.join(MODALITIES)}")
            raise InputError("modality", f"is {self.modality!r}", hint)
        if len(set(self.directions)) < len(self.directions):
            raise InputError("directions", f"is {', '.join(self.directions)}", "give two different names")
        if "reverse" in self.directions[:1] or "forward" in self.directions[1:]:
            advice = "forward can only be the first one and reverse the second"
            raise InputError("directions", f"is {', '.join(self.directions)}", advice)

    def _refuse_mixture(self) -> None:
        vectors = {part: self._sources[part] for part in ("queries", "targets")}
        if not isinstance(self.own_log, bool):
            raise InputError("own_log", f"is {self.own_log!r}", "use True or False")
        if is_clicks(self._sources["target_prior"]) and self._sources["clicks"] is None:
            raise InputError("target_prior", "is 'clicks', but there are none", f"give {argument('clicks')} too")
        matrices = {"scores": self._sources["scores"]}
        for bank in self.banks.values():
            vectors |= {ARGUMENTS[part]: getattr(bank, part) for part in ("queries", "targets")}
            matrices |= {ARGUMENTS[part]: getattr(bank, part) for part in ("scores", "cross_scores", "target_scores")}
            refuse_mixture(vectors, matrices)
        refuse_mixture(vectors, matrices)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Dataset:
        """The dataset of an experiment file (TOML or YAML); its paths are absolute and safe, none is opened yet."""
        arguments = read_experiment(path)
        try:
            return cls(**arguments)
        except InputError as error:
            raise InputError(f"{arguments['path']}: {error.sentence(file_door())}") from error

    @classmethod
    @facade
    def of(
        cls,
        correction: Any,
        *,
        targets: Any = None,
        queries: Any = None,
        scores: Any = None,
        relevant: Any = None,
        query_ids: Any = None,
        target_bank: Any = None,
        recent: Any = None,
        judged: Any = None,
        judged_queries: Any = None,
        captions: Any = None,
        target_captions: Any = None,
        bank_captions: Any = None,
        media: Any = None,
    ) -> Dataset:
        """The dataset of a correction: its gallery, and queries to ask; its bank is the bank "query bank".

        correction: a Correction.
        targets: the gallery, where the correction does not know where it is.
        queries, or scores (query, gallery): what to ask; without them the queries of its bank are asked.
        relevant, query_ids, captions, target_captions, media: as for a Dataset.
        target_bank: for methods of two banks. bank_captions: what the queries of its bank say.
        recent, judged, judged_queries: what other methods are judged by; the correction has its own verdict.
        """
        if not hasattr(correction, "query_bank"):
            advice = "give a Correction, as unhub.load returns it"
            raise InputError("correction", f"is of type {type(correction).__name__}", advice)
        if relevant is not None and queries is None and scores is None:
            raise InputError("relevant", "says which targets are right for which query", "give the queries too")
        second = correction.target_bank if target_bank is None else target_bank
        bank = Bank(correction.query_bank, second, correction.weights, captions=bank_captions)
        asks = queries is not None or scores is not None
        data = cls(
            scores=scores,
            queries=queries if asks else correction.query_bank,
            relevant=relevant,
            banks={FITTED_BANK: bank} if asks and scores is None and correction.query_bank is not None else {},
            query_ids=query_ids,
            target_ids=correction.ids if scores is not None else None,
            recent=recent,
            judged=judged,
            judged_queries=judged_queries,
            captions=captions if asks else bank_captions,
            target_captions=target_captions,
            media=media,
            metric=correction.metric,
            normalize=correction.normalize,
            memory=correction.memory,
            allow_overlap=True,
            allow_empty=True,
            directions=("search",),
        )
        data.correction, data.asks_bank = correction, not asks
        data._own_reader = replace(data._own_reader, fitted=True)
        if scores is None:
            gallery = correction.gallery(targets)
            data._sources["targets"] = data._opened["targets",] = replace(
                gallery, name="targets", ids=correction.ids or gallery.ids
            )
            # a correction's bank was checked when it was fitted, and when it was loaded
            known = {_key("queries", FITTED_BANK): correction.query_bank}
            known |= {_key("targets", FITTED_BANK): correction.target_bank} if target_bank is None else {}
            known |= {} if asks else {_key("queries"): correction.query_bank}
            data._opened |= {key: rows for key, rows in known.items() if rows is not None}
            if not asks and correction.query_bank is None:
                raise InputError("queries", "is missing", "this correction holds no bank of queries; give some to ask")
        elif data.scores_rows().shape[1] != correction.bias.size:
            raise InputError(
                "scores",
                f"has {data.shape[1]:,} columns but this correction is of {correction.bias.size:,} targets",
                "give scores with its own gallery",
            )
        if not asks:
            data.notes = ("No queries were given, so those of the bank are asked; give queries and their relevance.",)
        return data

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_opened", "_lock")}
        sources = {part: portable(value) for part, value in self._sources.items()}
        if is_clicks(self._sources["target_prior"]):  # a word, not the path of a file
            sources["target_prior"] = self._sources["target_prior"]
        for part in ("captions", "target_captions"):  # texts, which are never read in blocks
            if isinstance(self._sources[part], np.ndarray):
                sources[part] = self._sources[part].tolist()
        return state | {"_sources": sources}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        parts = [part for part, value in self._sources.items() if value is not None]
        title = f"{self.name!r}, " if self.name else ""
        return f"Dataset({title}{', '.join(parts)}; banks: {', '.join(self.banks) or 'none'})"

    @property
    def kind(self) -> Literal["vectors", "scores"]:
        """Whether it is made of embeddings or of matrices of scores."""
        matrices = self._sources["scores"] is not None or any(bank.scores is not None for bank in self.banks.values())
        matrices |= all(self._sources[part] is None for part in ("queries", "targets")) and self._has_fresh
        return "scores" if matrices else "vectors"

    @property
    def _has_fresh(self) -> bool:
        return any(self._sources[part] is not None for part in FRESH)

    @property
    def hyper_parameters(self) -> dict[str, Any]:
        """The hyper-parameters among its settings, such as tau."""
        return {name: self.settings[name] for name in HYPER_PARAMETERS if name in self.settings}

    @property
    def has_relevance(self) -> bool:
        """Whether it says which targets are right."""
        return self._sources["relevant"] is not None

    @property
    def both_ways(self) -> bool:
        """Whether queries and targets can change places."""
        return self.task_type == "retrieval" and len(self.directions) > 1

    @property
    def reader(self) -> Reader:
        """How its arrays are read: the similarity, the memory; as a store ranks, where the gallery is in one."""
        if is_address(self._sources["targets"]):
            self._vectors("targets")
        return self._reader

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, targets)"""
        if self.kind == "scores":
            return self.scores_rows().shape
        targets = self._side("targets")
        return len(self._side("queries")), len(targets)

    def bank_name(self, bank: str | None = None) -> str | None:
        """The bank that a function learns from: the one named, or the only one; None for the test queries.

        It is an error to name none where there are several.
        """
        if bank is None and len(self.banks) > 1:
            raise InputError("bank", "is missing", f"choose one of {', '.join((*self.banks, TEST_QUERIES))}")
        chosen = next(iter(self.banks), None) if bank is None else bank
        self._bank(chosen)
        return None if chosen == TEST_QUERIES else chosen

    def directions_of(self, bank: str | None = None) -> dict[str, str]:
        """The directions that a bank serves: name -> "forward" or "reverse"; back only with targets of its own."""
        part = self._bank(bank)
        two_sided = part.queries is not None and part.targets is not None
        back = self.both_ways and (part is NO_BANK or (self.kind == "vectors" and two_sided))
        back &= part.weights is None and self._sources["target_prior"] is None  # these are of one direction
        return dict(zip(self.directions, ("forward", "reverse") if back else ("forward",), strict=False))

    def parts(self) -> dict[str, Any]:
        """Every array, address or text that it is made of, by its key: test.queries, banks.val.targets."""
        sources = {f"test.{part}": value for part, value in self._sources.items() if part != "media"}
        if is_clicks(self._sources["target_prior"]):
            del sources["test.target_prior"]
        if isinstance(self._sources["relevant"], Labels):
            labels = sources.pop("test.relevant")
            sources |= {"test.labels": labels.queries, "test.target_labels": labels.targets}
        for name, bank in self.banks.items():
            sources |= {f"banks.{name}.{key}": getattr(bank, part) for part, key in BANK_PARTS.items()}
        return {
            key: at for key, at in sources.items() if at is not None and not (isinstance(at, str) and at in ALIGNED)
        }

    def files(self) -> dict[str, str]:
        """Every address among its parts, by its key; arrays in memory are left out."""
        return {key: os.fspath(at) for key, at in self.parts().items() if isinstance(at, str | os.PathLike)}

    @property
    def prefix(self) -> str:
        """What a sentence about its experiment file begins with: "experiment.toml: "; nothing for arrays."""
        return "" if self.path is None else f"{self.path}: "

    @property
    def media_folder(self) -> Path | None:
        """The folder with a picture, sound or video per target."""
        folder = self._sources["media"]
        return None if folder is None else Path(folder).expanduser()

    def relevance(self, direction: str = "forward") -> Relevance | None:
        """Which targets are right for which query, read once; None where nobody says."""
        if self._sources["relevant"] is None:
            return None
        with self.words(), self._lock:
            key = ("relevance", self._variant)
            relevance = self._once(key, self._read_relevance)
            return self._once((*key, "reverse"), relevance.reverse) if self._back(direction) else relevance

    def items(self, direction: str = "forward") -> tuple[Items, Items]:
        """Queries and targets as people know them, in this direction: ids, names, media; read once."""
        with self.words(), self._lock:
            queries, targets = self._once(("items",), lambda: read_items(self))
            return (targets, queries) if self._back(direction) else (queries, targets)

    def bank_names(self, bank: str) -> Sequence[str] | None:
        """What each query of a bank says; None where nobody says."""
        source = self._bank(bank).captions
        if source is None:
            return None
        with self.words(bank), self._lock:
            part = "scores" if self.kind == "scores" else "queries"
            ids = [f"bank query {row}" for row in range(len(self.rows(part, bank) or ()))]
            return self._once(
                _key("captions", bank), lambda: read_captions(source, "bank_captions", ids, "bank queries")
            )

    def source(self, part: str, bank: str | None = None) -> Any:
        """The address or array of a part of the test set or of a bank, as it came; None where there is none."""
        return self._sources[part] if bank is None else getattr(self.banks[bank], part)

    def inspect(self, part: str, bank: str | None = None, *, progress: Progress | None = None) -> Inspection:
        """One array, opened once, with everything that is wrong with it; ``task`` stops at the first problem.

        part: "queries", "targets" or "scores"; of a bank also "cross_scores" and "target_scores".
        """
        matrix = part.endswith("scores") or (part in FRESH and self.kind == "scores")
        look = inspect_matrix if matrix else inspect_vectors
        with self._lock:
            return self._once((*_key(part, bank), "inspect"), lambda: look(self, part, bank, progress))

    def weights(self, bank: str | None, size: int) -> FloatArray | None:
        """How much each query of a bank counts, read once; of a shard, those of its rows. size: how many queries."""
        values, key = self._bank(bank).weights, (*_key("weights", bank), *map(str, self._shard), str(size))

        def read() -> FloatArray | None:
            whole = values if values is None or self._shard == (0, 1) else read_numbers(values, name="query_weight")
            part = whole if self._shard == (0, 1) or whole is None else whole[self._bounds(len(whole))]
            return marginal(part, "query_weight", size, "bank queries")

        return self._once(key, read)

    def prior(self, size: int) -> tuple[FloatArray | None, float]:
        """How often each target is expected, relative to their mean, and the mean; size: how many targets there are."""
        values = self._sources["target_prior"]
        return self._once(("target_prior",), lambda: relative_prior(None if is_clicks(values) else values, size))

    def click_counts(self, bank: str | None, size: int) -> FloatArray | None:
        """How often each target was clicked, where ``target_prior`` is "clicks"; size: how many bank queries."""
        if not is_clicks(self._sources["target_prior"]):
            return None
        return self.clicked(bank, size)

    def clicked(self, bank: str | None, size: int) -> FloatArray:
        """How often each target was clicked, whatever the prior; size: how many bank queries."""
        with self.words(bank), self._lock:
            return self._once(_key("clicks", bank), lambda: self._read_clicks(bank, size))

    def _read_clicks(self, bank: str | None, size: int) -> FloatArray:
        rows = self._vectors("queries", bank) if self.kind == "vectors" and bank is not None else None
        ids, gallery = self.target_ids(), self._gallery_size
        named: Any = {"query_ids": None if rows is None else rows.ids, "target_ids": ids, "allow_empty": True}
        source = self._sources["clicks"]
        clicked = read_relevance(source, queries=size, targets=gallery, name="clicks", **named)
        return np.bincount(clicked.targets, weights=clicked.gains, minlength=gallery).astype(np.float64)

    @property
    def _gallery_size(self) -> int:
        return self._columns() if self.kind == "scores" else len(self._required("targets"))

    def target_ids(self) -> tuple[str, ...] | None:
        """The ids of the gallery, where it has any."""
        if self.kind == "scores":
            source = self._sources["target_ids"]
            return self._once(("target_ids",), lambda: column_ids(source, self._columns(), "scores"))
        return self._required("targets").ids

    def task(
        self,
        direction: str = "forward",
        bank: str | None = None,
        *,
        fit: bool = False,
        executor: Execution | Executor | None = None,
        progress: Progress | None = None,
    ) -> Task:
        """What a method runs on: one direction with one bank.

        direction: "forward", "reverse", or the name that the dataset gives it.
        bank: the name of a bank; None: the test queries are the bank, which is transductive.
        fit: for a fit, which needs no test queries and uses tensors where they are.
        executor: how to compute, as in ``unhub.fit``.
        progress: told about the reading of a store.
        """
        back, part = self._back(direction), self._bank(bank)
        with self.words(bank, direction), self._lock:
            make = vector_task if self.kind == "vectors" else score_task
            chosen = None if bank == TEST_QUERIES else bank
            return make(self, chosen, part, executor, back=back, fit=fit, progress=progress)

    def test_scores(self, *, progress: Progress | None = None) -> ScoreSource:
        """The scores of the test queries with the gallery, in blocks; no bank and no relevance is read."""
        with self.words(), self._lock:
            if self.kind == "scores":
                return self._reader.matrix(self.scores_rows())
            if self._sources["queries"] is None and self.task_type != "self-retrieval":
                self._required("queries")
            self._vectors("targets", progress=progress)
            targets = self._required("targets")
            return self._reader.products(self._required("queries"), targets)

    def overlap(self, bank: str, direction: str = "forward") -> int:
        """How many test queries are in a bank; all of them where they are the bank."""
        part, back = self._bank(bank), self._back(direction)
        asking, banked = ("targets", part.targets) if back else ("queries", part.queries)
        if self.kind == "scores":
            asking, banked = "scores", part.scores
        test = self.rows(asking)
        if banked is None:
            return self.shape[1 if back else 0]
        own = self.rows(asking, bank)
        assert test is not None
        assert own is not None
        key = (*_key("overlap", bank), direction)
        return self._once(key, lambda: len(shared_rows(test, own, unit=self._reader.scaled and self.kind == "vectors")))

    def block(self, rows: IntArray, columns: IntArray, direction: str = "forward") -> FloatArray:
        """The test scores of some queries with some targets in this direction: (rows, columns) float64."""
        if self._back(direction):
            return self.block(columns, rows).T
        if self.kind == "scores":
            scores: FloatArray = take(self.scores_rows(), rows)[:, columns].astype(np.float64)
            return scores
        both = [take(self._required(part), each) for part, each in (("queries", rows), ("targets", columns))]
        queries, targets = (unit_rows(each) if self._reader.scaled else each.astype(np.float64) for each in both)
        return queries @ targets.T

    def sample(
        self,
        cells: int,
        seed: int = 0,
        *,
        direction: str = "forward",
        bank_cells: int | None = None,
        most_targets: int = 100_000,
    ) -> Dataset:
        """At most so many test scores in one direction, in memory, in the type they are stored in.

        cells: test scores; at least 200 queries stay, also where that is more. bank_cells: scores of each bank; cells
        where it is not given. most_targets: targets of a larger gallery: those that are right, and others at random.
        ``notes`` and ``bank_notes`` say what was left out, ``drawn`` which rows are there.
        """
        from unhub.dataset.sampling import sampled_dataset

        cells, seed = count("cells", cells), seed_number("seed", seed)
        bank_cells, most_targets = (
            optional_count("bank_cells", bank_cells) or cells,
            count("most_targets", most_targets),
        )
        with self._lock:
            return sampled_dataset(self, cells, bank_cells, most_targets, seed, back=self._back(direction))

    def with_scores(self, scores: Any) -> Dataset:
        """The same test set with a matrix (query, gallery) in place of its embeddings, and without banks."""
        other = self._copy()
        other._opened = {key: value for key, value in self._opened.items() if key[0] == "relevance"}
        ids = dict(zip(("query_ids", "target_ids"), self._side_ids(), strict=True))
        other._sources = {**self._sources, "queries": None, "targets": None, "scores": scores, **ids}
        other.banks = {}
        return other

    def with_relevance(self, relevance: Relevance) -> Dataset:
        """The same data with other relevance; both share what is opened."""
        other = copy.copy(self)
        other._sources, other._variant = {**self._sources, "relevant": relevance}, str(next(VARIANTS))
        return other

    def lenient(self) -> Dataset:
        """The same data, for exploring: test queries may be in a bank, and queries may have no relevant target.

        Both share what is opened.
        """
        other = copy.copy(self)
        other.allow_overlap = other.allow_empty = True
        other._variant = f"{self._variant}, lenient"
        return other

    def with_bank(self, name: str, bank: Bank) -> Dataset:
        """The same test set, with what was opened of it, and one bank in place of its own."""
        other = self._copy()
        other._opened = {
            key: value for key, value in self._opened.items() if key[0] not in (*self.banks, name, "inspect")
        }
        other.banks = {name: bank}
        return other

    def shard(self, i: int, of: int) -> Dataset:
        """The same data with part i of the rows of each bank, counted from 0: what one worker reads."""
        of = count("of", of)
        if not isinstance(i, int | np.integer) or not 0 <= i < of:
            raise InputError("i", f"is {i} of {of}", "count shards from 0")
        part = self._copy()
        part._shard = (i, of)
        return part

    def door(self, bank: str | None = None) -> Door:
        """How arguments are called where this dataset came from: the file's keys, or Python's names."""
        return in_python if self.path is None else file_door(bank)

    @contextmanager
    def words(self, bank: str | None = None, direction: str | None = None) -> Iterator[None]:
        """While this lasts, errors are in the words of the experiment file, with the bank they came up in."""
        try:
            yield
        except InputError as error:
            if self.path is None or error.came.startswith(self.prefix):
                raise
            where = ""
            if bank is not None and direction is not None:
                way = self.directions[-1 if self._back(direction) else 0]
                where = f"the bank {bank}, {way}: "
            raise InputError(f"{self.prefix}{where}{error.sentence(self.door(bank))}") from error

    @property
    def _reader(self) -> Reader:
        """Its own, or once a store is open the one that ranks as the store does."""
        return cast(Reader, self._opened.get(("reader",), self._own_reader))

    def _copy(self) -> Dataset:
        other = copy.copy(self)
        other._own_reader = self._reader
        other._start()
        return other

    def __copy__(self) -> Dataset:
        """The same data; both share what is opened."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._opened:
                self._opened[key] = make()
            return cast(T, self._opened[key])

    def way(self, direction: str) -> str:
        """ "forward" or "reverse", of one of these words or of the name of a direction."""
        return "reverse" if self._back(direction) else "forward"

    def _back(self, direction: str) -> bool:
        ways = dict(zip(self.directions, ("forward", "reverse"), strict=False))
        way = ways.get(direction, direction)
        if way not in ("forward", "reverse"):
            raise InputError("direction", f"is {direction!r}", f"use one of {', '.join(ways)}")
        return way == "reverse"

    def _bank(self, bank: str | None) -> Bank:
        if bank in (None, TEST_QUERIES):
            return NO_BANK
        if bank not in self.banks:
            raise InputError("bank", f"is {bank!r}", f"there are {', '.join((*self.banks, TEST_QUERIES))}")
        return self.banks[bank]

    def _vectors(self, part: str, bank: str | None = None, *, shard: bool = False, progress: Any = None) -> Rows | None:
        """The embeddings of a part, opened and checked at the first call; None where there are none."""
        source = self._vector_source(part, bank)
        shard = shard and self._shard != (0, 1)
        key = (*_key(part, bank), *(map(str, self._shard) if shard else ()))
        if source is None:
            return None
        return self._once(key, lambda: self._open(source, part, bank, shard, progress))

    def _vector_source(self, part: str, bank: str | None) -> Any:
        source = self.source(part, bank)
        if source is None and part == "queries" and bank is None and self.task_type == "self-retrieval":
            return self._sources["targets"]
        return source

    def _ids(self, part: str, bank: str | None) -> Any:
        return None if bank is not None or part in FRESH else self._sources[OWN_IDS[part]]

    def _open(self, source: Any, part: str, bank: str | None, shard: bool, progress: Progress | None) -> Rows:
        like = None if part == "targets" and bank is None else self._vectors("targets")
        ids = self._ids(part, bank)
        known = self._opened_before(source) if ids is None and not shard else None
        if known is not None:
            return replace(known, name=part if bank is None else ARGUMENTS[part])
        rows = self._load(source, part, bank, progress)
        return self._reader.checked(named(self._part(rows) if shard else rows, ids), like=like)

    def _load(self, source: Any, part: str, bank: str | None, progress: Progress | None) -> Rows:
        """The rows of a part, not checked yet, and without ids that came as another argument."""
        name = part if bank is None else ARGUMENTS[part]
        if bank is not None and part == "targets" and (nothing := empty_bank(source, axis=0)) is not None:
            return nothing
        if part == "targets" and bank is None and is_address(source):
            rows, described = open_store_rows(source, name=name, progress=progress)
            self._opened["reader",] = self._reader.as_in_store(described)
            return rows
        return open_source(source, name=name, progress=progress)

    def _side(self, part: str) -> Rows:
        """The test queries or the gallery, opened; whether their vectors can be used is checked elsewhere."""
        opened: Rows | None = self._opened.get((part,))
        rows = self.inspect(part).rows if opened is None else opened
        return self._required(part) if rows is None else rows

    def _opened_before(self, source: Any) -> Rows | None:
        """The rows of the same source, opened and checked for another part, under ids of their own."""
        ids = {"targets": self._sources["target_ids"], "queries": self._sources["query_ids"]}
        places = [(_key(part), self._sources[part]) for part in ids if ids[part] is None]
        for name, bank in self.banks.items():
            places += [(_key(part, name), getattr(bank, part)) for part in ids]
        for key, other in places:
            same = source is other or (isinstance(source, str) and isinstance(other, str) and source == other)
            if same and key in self._opened:
                return cast(Rows, self._opened[key])
        return None

    def _part(self, rows: Rows) -> Rows:
        """The rows of this shard."""
        bounds = self._bounds(len(rows))
        ids = None if rows.ids is None else rows.ids[bounds]
        if isinstance(rows.data, np.ndarray):
            return replace(rows, data=rows.data[bounds], ids=ids)
        return Rows(Permuted(rows, np.arange(bounds.start, bounds.stop)), ids, rows.source, rows.name)

    def _bounds(self, size: int) -> slice:
        """Which of so many rows belong to this shard."""
        i, of = self._shard
        return slice(size * i // of, size * (i + 1) // of)

    def rows(self, part: str, bank: str | None = None) -> Rows | None:
        """The embeddings or the matrix of a part, opened and checked once; None where there are none.

        part: "queries", "targets", "scores", "recent" or "judged_queries"; of a bank also "cross_scores" and
            "target_scores".
        bank: whose part; None: of the test set.
        """
        with self.words(bank), self._lock:
            embedded = part in ("queries", "targets") or (part in FRESH and self.kind == "vectors")
            return self._vectors(part, bank) if embedded else self._matrix(part, bank)

    def _required(self, part: str, advice: str = "") -> Rows:
        rows = self._vectors(part)
        if rows is None:
            both = f"give {argument('queries')} and {argument('targets')}, or a matrix of {argument('scores')}"
            raise InputError(part, "is missing", advice or both)
        return rows

    def _matrix(self, part: str, bank: str | None = None, *, shard: bool = False) -> Rows | None:
        """A matrix of scores, opened and checked at the first call."""
        source = self._sources[part] if bank is None else getattr(self.banks[bank], part)
        shard = shard and self._shard != (0, 1)
        key = (*_key(part, bank), *(map(str, self._shard) if shard else ()))
        name = part if bank is None else ARGUMENTS[part]
        if source is None:
            return None

        def opened() -> Rows:
            nothing = empty_bank(source, axis=1) if part == "cross_scores" else None
            rows = self._reader.scores(source, name) if nothing is None else replace(nothing, name=name)
            return self._part(rows) if shard else rows

        return self._once(key, opened)

    def scores_rows(self) -> Rows:
        """The matrix of test scores, opened and checked."""
        return self._matrix("scores") or self._required("queries")

    def _columns(self) -> int:
        if self._sources["scores"] is not None:
            return self.scores_rows().shape[1]
        if not self.banks and self._has_fresh:
            fresh = next(self._matrix(part) for part in FRESH if self._sources[part] is not None)
            return fresh.shape[1]  # type: ignore[union-attr]
        first = next(name for name, bank in self.banks.items() if bank.scores is not None)
        return self._matrix("scores", first).shape[1]  # type: ignore[union-attr]

    def _marginals(
        self, bank: str | None, rows: int, columns: int, *, back: bool
    ) -> tuple[FloatArray | None, FloatArray | None, float]:
        """Weights of the bank, prior of the gallery and its mean; they belong to one direction."""
        weights, prior = self._bank(bank).weights, self._sources["target_prior"]
        if back and (weights is not None or prior is not None):
            raise InputError(
                "query_weight",
                f"and {argument('target_prior')} belong to the forward direction",
                "evaluate one at a time",
            )
        return (self.weights(bank, rows), *self.prior(columns))

    def _side_ids(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        if self.kind == "vectors":
            targets = self._side("targets").ids
            return self._side("queries").ids, targets
        source, rows = self._sources["query_ids"], self.shape[0]
        return self._once(("query_ids",), lambda: column_ids(source, rows, "scores")), self.target_ids()

    def _read_relevance(self) -> Relevance:
        shape = self.shape
        source = relevance_source(self._sources["relevant"], shape, allow_empty=self.allow_empty)
        own, others = self._side_ids()
        return read_relevance(
            source, queries=shape[0], targets=shape[1], query_ids=own, target_ids=others, allow_empty=self.allow_empty
        )
