"""An experiment file: which arrays are the test set, what is right, and which banks there are.

Paths are relative to the file. Which arrays are there, embeddings or matrices, decides what can be run.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unhub.experiments.mistakes import refuse_mistakes
from unhub.experiments.settings_file import read_settings
from unhub.foundation.errors import InputError
from unhub.foundation.file_names import on_another_machine
from unhub.foundation.shown import shown
from unhub.stores.address import is_address, without_secrets

TASKS = ("retrieval", "classification", "self-retrieval")
TEST = (
    "queries",
    "targets",
    "scores",
    "relevant",
    "labels",
    "target_labels",
    "query_ids",
    "target_ids",
    "captions",
    "target_captions",
    "media",
)
BANK = ("queries", "targets", "scores", "cross", "target_scores", "captions")
"""of a bank: embeddings, or the matrices bank x test targets, bank x bank targets, bank targets x test targets; and
what its queries say"""
ABOUT = ("name", "model", "task", "directions", "metrics", "modality")
CHOICES = ("metric", "normalize", "group_targets", "allow_overlap", "memory", "seed", "resamples")
"""settings that are ``unhub.evaluate``'s own"""
SETTINGS = ("tau", "iterations", "ties", *CHOICES)
SEPARATOR = "::"
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says; every path in it is absolute."""

    path: Path
    name: str
    model: str
    task: str = "retrieval"
    directions: tuple[str, ...] = ("forward", "reverse")
    """what the direction from queries to targets is called, and the one back"""
    metrics: tuple[str, ...] = ()
    modality: str = ""
    """image, video or audio, where the authors' scripts differ between them"""
    test: Mapping[str, str] = field(default_factory=dict)
    banks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vectors(self) -> bool:
        """Whether the test set is embeddings; otherwise it is a matrix of scores."""
        return "scores" not in self.test

    @property
    def both_ways(self) -> bool:
        """Whether queries and targets can change places."""
        return self.task == "retrieval" and len(self.directions) > 1

    def has_targets(self, bank: str) -> bool:
        """Whether a bank has targets, so that methods of two banks can learn from it."""
        return bool({"targets", "cross"} & set(self.banks[bank]))

    def files(self) -> dict[str, str]:
        """Every array that the file names, by the place where it does: test.queries, banks.val.targets."""
        named = {f"test.{part}": path for part, path in self.test.items() if part != "media" and path != "aligned"}
        for bank, parts in self.banks.items():
            named |= {f"banks.{bank}.{part}": path for part, path in parts.items()}
        return named


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment of a TOML or YAML file; every mistake in it is one sentence."""
    file = Path(path).expanduser()
    said = _parsed(file)
    _known(file, said, ("dataset", "test", "banks", "settings"), "")
    about, test = _section(file, said, "dataset"), _section(file, said, "test")
    banks, settings = _section(file, said, "banks"), _section(file, said, "settings")
    _known(file, about, ABOUT, "dataset.")
    _known(file, test, TEST, "test.")
    _known(file, settings, SETTINGS, "settings.")
    for name in banks:
        _known(file, _section(file, banks, name, f"banks.{name}"), BANK, f"banks.{name}.")
    made = Experiment(
        path=file.resolve(),
        name=_text(file, about, "name", file.stem),
        model=_text(file, about, "model", "model"),
        task=_task(file, about),
        directions=_directions(file, about),
        metrics=tuple(_texts(file, about, "metrics")),
        modality=_text(file, about, "modality", ""),
        test={part: _place(file, f"test.{part}", value) for part, value in test.items()},
        banks={
            name: {part: _place(file, f"banks.{name}.{part}", value) for part, value in parts.items()}
            for name, parts in banks.items()
        },
        settings=settings,
    )
    refuse_mistakes(made)
    return made


def _parsed(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise InputError(f"there is no experiment file {file}; write one with unhub reproduce init.")
    said = read_settings(file, "YAML" if file.suffix.lower() in YAML else "TOML")
    if not isinstance(said, dict):
        raise InputError(f"{file} names nothing; write one with unhub reproduce init.")
    return said


def _known(file: Path, said: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for name in said:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
            raise InputError(f"{file}: there is no {where}{name}; {hint}")


def _section(file: Path, said: Mapping[str, Any], name: str, where: str | None = None) -> dict[str, Any]:
    found = said.get(name, {})
    if not isinstance(found, dict):
        raise InputError(f"{file}: {where or name} is {shown(found)}; write it as a section, [{where or name}].")
    return found


def _text(file: Path, said: Mapping[str, Any], name: str, otherwise: str) -> str:
    found = said.get(name, otherwise)
    if not isinstance(found, str):
        raise InputError(f"{file}: dataset.{name} is {shown(found)}; write a text.")
    return found


def _texts(file: Path, said: Mapping[str, Any], name: str) -> list[str]:
    found = said.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InputError(f"{file}: dataset.{name} is {shown(found)}; write a list of texts.")
    return found


def _task(file: Path, about: Mapping[str, Any]) -> str:
    task = _text(file, about, "task", "retrieval")
    if task not in TASKS:
        raise InputError(f"{file}: dataset.task is {task!r}; it can be {', '.join(TASKS)}.")
    return task


def _directions(file: Path, about: Mapping[str, Any]) -> tuple[str, ...]:
    named = _texts(file, about, "directions") or ["forward", "reverse"]
    if len(named) > 2 or len(set(named)) != len(named):
        raise InputError(f"{file}: dataset.directions is {named}; give one or two names, such as t2v and v2t.")
    return tuple(named)


def _place(file: Path, where: str, value: Any) -> str:
    """A path of the file as an absolute one; the word aligned and a part behind :: stay as they are."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{file}: {where} is {shown(value)}; write the path of a file.")
    if where == "test.relevant" and value == "aligned":
        return value
    if is_address(value):
        raise InputError(
            f"{file}: {where} is the address of a store, {without_secrets(value)}; an experiment file names files "
            f"only, since a file cannot make unhub connect anywhere. Write the vectors to a file first."
        )
    if on_another_machine(value):
        raise InputError(
            f"{file}: {where} is {value}, on another machine; a file cannot make unhub go there. Copy it here, or give "
            f"it a path on this machine."
        )
    path, separator, part = value.partition(SEPARATOR)
    return str(file.resolve().parent / Path(path).expanduser()) + separator + part
