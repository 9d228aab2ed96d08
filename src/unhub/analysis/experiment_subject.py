"""An experiment file as something to explore."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unhub.analysis.assembling import assembled
from unhub.analysis.commands import experiment_command
from unhub.analysis.given import Given, GivenBank, unit
from unhub.analysis.material import TEST, Material
from unhub.analysis.samples import BANK_CELLS, TEST_CELLS
from unhub.core.fingerprint import shared_rows
from unhub.dataset import Reader
from unhub.dataset.experiment_file import CAPTIONS, Experiment
from unhub.dataset.items import read_captions
from unhub.experiments.presets import Preset
from unhub.experiments.run import Run
from unhub.experiments.sources import bank_files, ids_of, matrix_of, refuse_logits, relevance_of, rows_of
from unhub.experiments.views import sides_of
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.methods import Method

NOUNS = {"image": "images", "video": "videos", "audio": "recordings"}


@dataclass(frozen=True, eq=False)
class ExperimentSubject:
    """An experiment, each direction opened when it is first asked for."""

    experiment: Experiment
    preset: Preset
    cells: tuple[int, int] = (TEST_CELLS, BANK_CELLS)
    _made: dict[str, Material] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        refuse_merged(self.experiment)
        refuse_logits(self.experiment)

    @property
    def title(self) -> str:
        """Dataset and model."""
        return f"{self.experiment.name}, {self.experiment.model}"

    @property
    def directions(self) -> tuple[str, ...]:
        """By the names that the file gives them."""
        return tuple(Run(self.experiment, self.preset).ways())

    def material(self, direction: str) -> Material:
        """One direction of the test set with every bank that serves it, assembled once, whichever threads ask."""
        if direction not in self.directions:
            raise InputError(f"there is no direction {direction!r}; there are {', '.join(self.directions)}.")
        with self._lock:
            if direction not in self._made:
                self._made[direction] = assembled(self.given(direction))
            return self._made[direction]

    def command(self, direction: str, bank: str, method: Method, *, saved: bool = False) -> str:
        """The evaluation of a method and of none, over all of the files."""
        its = self.material(direction)
        return experiment_command(
            self.experiment,
            self.preset,
            bank,
            method,
            back=Run(self.experiment, self.preset).ways()[direction] == "reverse",
            overlap=its.banks[bank].shared > 0,
            empty=not its.relevance.judged().all(),
        )

    def given(self, direction: str) -> Given:
        """The whole of one direction."""
        its, run = self.experiment, Run(self.experiment, self.preset)
        way = run.ways()[direction]
        back = way == "reverse"
        sides, ids = sides_of(its), ids_of(its)
        queries = targets = scores = None
        if its.vectors:
            queries = self._vectors(its.test.get("queries", its.test["targets"]), "test.queries")
            targets = self._vectors(its.test["targets"], "test.targets")
        else:
            scores = matrix_of(its)
        if back:
            queries, targets = targets, queries
            scores = None if scores is None else np.ascontiguousarray(scores.T)

        def method(name: str, banked: bool) -> Method:
            return self.preset.method(name, its.modality, way, banked=banked, given=its.settings)

        banks = [self._bank(name, queries, back=back) for name in its.banks if direction in run.ways(name)]
        media = its.test.get("media")
        return Given(
            direction=direction,
            queries=queries,
            targets=targets,
            scores=scores,
            relevance=relevance_of(its, reverse=back),
            judged=True,
            sides=sides[::-1] if back else sides,
            ids=ids[::-1] if back else ids,
            banks=[*banks, GivenBank(TEST, names=sides[1 if back else 0].names)],
            method=method,
            noun=("texts" if back else NOUNS[its.modality]) if its.modality else "targets",
            ties=its.settings.get("ties", self.preset.ties),
            ignore_self=its.task == "self-retrieval",
            seed=int(its.settings.get("seed", 0)),
            media_folder=None if media is None else Path(media),
            cells=self.cells,
            scaled=its.settings.get("metric", "cosine") == "cosine",
        )

    def _bank(self, name: str, queries: FloatArray | None, *, back: bool) -> GivenBank:
        its = self.experiment
        files = bank_files(its, name)
        made: dict[str, Any] = {key: self._rows(path, f"banks.{name}") for key, path in files.items()}
        names = None
        if CAPTIONS in its.banks[name] and not back:
            size = len(made["query_bank" if its.vectors else "query_bank_scores"])
            ids = [f"bank query {row}" for row in range(size)]
            source = its.banks[name][CAPTIONS]
            names = read_captions(source, "bank_captions", ids, "bank queries")
        if not its.vectors:
            test = matrix_of(its)
            shared = len(shared_rows(test, made["query_bank_scores"]))
            parts = (made["query_bank_scores"], made.get("cross_bank_scores"), made.get("target_bank_scores"))
            return GivenBank(name, None, None, *parts, names=names, shared=shared)
        asking, others = made["query_bank"], made.get("target_bank")
        if back:
            asking, others = others, asking
        assert queries is not None
        return GivenBank(name, asking, others, names=names, shared=len(shared_rows(queries, asking, unit=self._scaled)))

    def _vectors(self, source: str, name: str) -> FloatArray:
        said = self.experiment.settings
        reader = Reader(said.get("metric", "cosine"), bool(said.get("normalize", False)), tensors=False)
        rows = reader.vectors(source, name)
        found: FloatArray = np.asarray(rows[0 : rows.shape[0]], dtype=np.float32)
        return unit(found) if reader.scaled else found

    def _rows(self, source: str, name: str) -> FloatArray:
        return self._vectors(source, name) if self.experiment.vectors else rows_of(source, name)

    @property
    def _scaled(self) -> bool:
        said = self.experiment.settings
        return bool(said.get("normalize", False)) and said.get("metric", "cosine") == "cosine"


def refuse_merged(experiment: Experiment) -> None:
    """An error where targets are merged: single ones are shown."""
    if "group_targets" in experiment.settings:
        raise InputError(
            f"{experiment.path}: settings.group_targets merges targets, and single ones are shown here; leave it out."
        )
