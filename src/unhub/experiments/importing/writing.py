"""The folder of an experiment, from what was gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.progress import Progress
from unhub.experiments.importing.dump import Dump
from unhub.experiments.importing.experiment_text import Written, experiment_text
from unhub.experiments.importing.folder import save_matrix
from unhub.experiments.importing.matrices import Matrix
from unhub.foundation.atomic import complete_folder
from unhub.foundation.types import IntArray

FILE = "experiment.toml"
BY_ORDER = "the order of the rows"


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that goes into the folder: matrices by their place in the experiment, answers, texts, settings."""

    about: Mapping[str, Any]
    matrices: Mapping[str, Matrix]
    target: IntArray
    """(query,): the target that is right"""
    targets: int
    captions: Sequence[str] | None
    target_ids: Sequence[str] | None
    settings: Mapping[str, Any]
    said: Sequence[str]


def write_folder(place: Path, plan: Plan, dump: Dump, progress: Progress | None) -> dict[str, Written]:
    """The parts of the folder, which is complete once this comes back."""
    parts = {where: Written(_file(where), matrix.shape, matrix.found.place) for where, matrix in plan.matrices.items()}
    texts = {"captions": plan.captions, "target_ids": plan.target_ids}
    with complete_folder(place) as folder:
        for where, matrix in plan.matrices.items():
            save_matrix(folder / parts[where].file, matrix, progress)
        if not np.array_equal(plan.target, np.arange(plan.targets)):
            np.save(folder / "relevant.npy", plan.target)
            parts["test.relevant"] = Written("relevant.npy", plan.target.shape, dump.relevant or BY_ORDER)
        for name, lines in texts.items():
            if lines is not None:
                (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                parts[f"test.{name}"] = Written(f"{name}.txt", (len(lines),), str(getattr(dump, name)))
        text = experiment_text(plan.about, _sections(parts), plan.settings, plan.said)
        (folder / FILE).write_text(text, encoding="utf-8")
    return parts


def _file(where: str) -> str:
    """The name of a file, after its place in the experiment.

    >>> _file("banks.train.scores")
    'bank_train_scores.npy'
    """
    return f"{where.replace('banks.', 'bank.', 1).replace('.', '_')}.npy"


def _sections(parts: Mapping[str, Written]) -> dict[str, dict[str, Written]]:
    """The parts of each section of the experiment file."""
    sections: dict[str, dict[str, Written]] = {}
    for where, part in parts.items():
        section, _, name = where.rpartition(".")
        sections.setdefault(section, {})[name] = part
    return dict(sorted(sections.items(), key=lambda each: each[0] != "test"))
