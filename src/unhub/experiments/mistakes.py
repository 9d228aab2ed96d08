"""What an experiment file can get wrong beyond its spelling: parts that are missing, or exclude each other."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unhub.foundation.errors import InputError
from unhub.foundation.file_names import slug

if TYPE_CHECKING:
    from unhub.experiments.experiment import Experiment

CAPTIONS = "captions"
MODALITIES = ("image", "video", "audio")
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "tau": ((int, float, str), 'a number, or "auto"'),
    "iterations": ((int,), "a whole number"),
    "seed": ((int,), "a whole number"),
    "resamples": ((int,), "a whole number"),
    "memory": ((str, int), 'a size such as "2GB"'),
    "normalize": ((bool,), "true or false"),
    "allow_overlap": ((bool,), "true or false"),
    "ties": ((str,), "a text"),
    "metric": ((str,), "a text"),
    "group_targets": ((str,), 'a text, "max"'),
}
"""what a setting can be, and how that is said"""


def refuse_mistakes(made: Experiment) -> None:
    """An error for the first mistake, which says how to put it right."""
    for wrong in (*_settings(made), *_about(made), *_test(made), *_banks(made)):
        raise InputError(f"{made.path}: {wrong}")


def _settings(made: Experiment) -> Iterable[str]:
    for name, value in made.settings.items():
        kinds, said = KINDS[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            yield f"settings.{name} is {_shown(value)}; write {said}."


def _about(made: Experiment) -> Iterable[str]:
    if made.modality and made.modality not in MODALITIES:
        near = difflib.get_close_matches(made.modality, MODALITIES, 1)
        hint = f"did you mean {near[0]}?" if near else f"it can be {', '.join(MODALITIES)}."
        yield f"dataset.modality is {made.modality!r}; {hint}"


def _test(made: Experiment) -> Iterable[str]:
    test = made.test
    if "scores" in test and ("queries" in test or "targets" in test):
        yield "test has embeddings and a matrix of scores; leave one of them out."
    wanted = ["targets"] if made.task == "self-retrieval" else ["queries", "targets"]
    lacking = [each for each in wanted if each not in test]
    if "scores" not in test and lacking:
        yield f"test.{lacking[0]} is missing; name an embedding file, or test.scores a matrix."
    if "labels" in test and "relevant" in test:
        yield "test.labels and test.relevant both say what is right; leave one of them out."
    if "target_labels" in test and "labels" not in test:
        yield "test.target_labels are there without test.labels, those of the queries; name both."


def _banks(made: Experiment) -> Iterable[str]:
    asking, others = ("queries", ("targets",)) if made.vectors else ("scores", ("cross", "target_scores"))
    what = "embeddings" if made.vectors else "a matrix of scores"
    for name, parts in made.banks.items():
        for part in parts:
            if part not in (asking, *others, CAPTIONS):
                yield f"banks.{name}.{part} does not go with a test set of {what}; name banks.{name}.{asking}."
        if asking not in parts:
            yield f"banks.{name}.{asking} is missing; a bank is of queries in the first place."
        if not made.vectors and ("cross" in parts) != ("target_scores" in parts):
            there, lacking = sorted(others, key=lambda part: part not in parts)
            yield f"banks.{name} has {there} but no {lacking}; its targets take both."
    slugs = [slug(name) for name in made.banks]
    for name in made.banks:
        if slugs.count(slug(name)) > 1:
            yield f"two banks would be called {slug(name)} in the names of files; give one of them another name."


def _shown(value: Any) -> str:
    return f"{value!r}" if isinstance(value, str | int | float | bool | list) else f"{value}"
