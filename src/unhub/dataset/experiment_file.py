"""An experiment file: which arrays are the test set, what is right, and which banks there are.

Paths are relative to the file. Which arrays are there, embeddings or matrices, decides what can be run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unhub.dataset.settings_file import read_settings
from unhub.dataset.sources import ARGUMENTS, Bank, Labels
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import is_network_path
from unhub.foundation.safe_text import short_repr, slug
from unhub.foundation.wording import Door, did_you_mean
from unhub.stores.address import is_address, without_secrets

TASKS = ("retrieval", "classification", "self-retrieval")
MODALITIES = ("image", "video", "audio")
TEST = (
    "queries", "targets", "scores", "relevant", "labels", "target_labels", "query_ids", "target_ids", "captions",
    "target_captions", "media", "target_prior", "recent", "judged", "judged_queries", "clicks",
)  # fmt: skip
CAPTIONS = "captions"
BANK = ("queries", "targets", "scores", "cross", "target_scores", CAPTIONS)
"""of a bank: embeddings, or the matrices bank x test targets, bank x bank targets, bank targets x test targets; and
what its queries say"""
ABOUT = ("name", "model", "task", "directions", "metrics", "modality")
CHOICES = ("metric", "normalize", "group_targets", "allow_overlap", "memory", "own_log", "duplicates")
"""settings that are arguments of ``Dataset``"""
HYPER_PARAMETERS = ("tau", "iterations", "strength")
"""settings that every method with such a hyper-parameter takes"""
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "tau": ((int, float, str), 'a number, or "auto"'),
    "iterations": ((int,), "a whole number"),
    "strength": ((int, float, str), 'a number, or "auto"'),
    "own_log": ((bool,), "true or false"),
    "duplicates": ((str,), 'a text, "drop" or "weigh"'),
    "seed": ((int,), "a whole number"),
    "resamples": ((int,), "a whole number"),
    "memory": ((str, int), 'a size such as "2GB"'),
    "normalize": ((bool,), "true or false"),
    "allow_overlap": ((bool,), "true or false"),
    "ties": ((str,), "a text"),
    "metric": ((str,), "a text"),
    "group_targets": ((str,), 'a text, "max"'),
}
"""what each setting can be, and how that is said"""
SEPARATOR = "::"
YAML = (".yaml", ".yml")
WORDS = {"test.relevant": "aligned", "test.target_prior": "clicks"}
"""parts that a word can stand for, in place of a path"""
BANK_KEYS = {name: "cross" if part == "cross_scores" else part for part, name in ARGUMENTS.items()}
"""an argument's name -> the key of a bank in the file"""


def file_door(bank: str | None = None) -> Door:
    """The words of an experiment file: its keys for the names of arguments; bank: whose keys ``query_bank`` means.

    >>> file_door("val")("query_bank", None), file_door()("allow_overlap", "True")
    ('banks.val.queries', 'allow_overlap = true in the section [settings]')
    """

    def door(name: str, value: str | None) -> str:
        if value is not None:
            text = value.lower() if value in ("True", "False") else value if _is_number(value) else f'"{value}"'
            return f"{name} = {text} in the section [settings]"
        if name in BANK_KEYS and bank is not None:
            return f"banks.{bank}.{BANK_KEYS[name]}"
        if name in ("task_type", *ABOUT):
            return f"dataset.{name.removesuffix('_type')}"
        return f"test.{name}" if name in TEST else f"settings.{name}" if name in KINDS else name

    return door


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def read_experiment(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of ``Dataset`` in a TOML or YAML file, paths absolute; every mistake in it is one sentence."""
    file = Path(path).expanduser()
    if not file.exists():
        raise InputError(f"there is no experiment file {file}; write one with unhub reproduce init.")
    contents = read_settings(file, "YAML" if file.suffix.lower() in YAML else "TOML")
    if not isinstance(contents, dict):
        raise InputError(f"{file} names nothing; write one with unhub reproduce init.")
    _known(file, contents, ("dataset", "test", "banks", "settings"), "")
    about, test = _section(file, contents, "dataset"), _section(file, contents, "test")
    banks, settings = _section(file, contents, "banks"), _section(file, contents, "settings")
    _known(file, about, ABOUT, "dataset.")
    _known(file, test, TEST, "test.")
    _known(file, settings, KINDS, "settings.")
    for name in banks:
        _known(file, _section(file, banks, name, f"banks.{name}"), BANK, f"banks.{name}.")
    arguments: dict[str, Any] = {
        "path": file.resolve(),
        "name": _text(file, about, "name", file.stem),
        "model": _text(file, about, "model", "model"),
        "task_type": _task(file, about),
        "directions": _directions(file, about),
        "metrics": tuple(_texts(file, about, "metrics")),
        "modality": _text(file, about, "modality", ""),
        "settings": settings,
    }
    test = {part: _place(file, f"test.{part}", value) for part, value in test.items()}
    banks = {
        name: {part: _place(file, f"banks.{name}.{part}", value) for part, value in parts.items()}
        for name, parts in banks.items()
    }
    mistakes = (
        *_wrong_settings(settings, arguments["modality"]),
        *_wrong_test(test, arguments["task_type"]),
        *_wrong_banks(banks, vectors="scores" not in test),
    )
    for mistake in mistakes:
        raise InputError(f"{arguments['path']}: {mistake}")
    arguments |= {name: settings[name] for name in CHOICES if name in settings}
    labels, target_labels = test.pop("labels", None), test.pop("target_labels", None)
    test["relevant"] = test.get("relevant", "aligned") if labels is None else Labels(labels, target_labels or labels)
    for name, parts in banks.items():
        banks[name] = Bank(**{"cross_scores" if part == "cross" else part: at for part, at in parts.items()})
    return arguments | test | {"banks": banks}


def _known(file: Path, section: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for name in section:
        if name not in known:
            hint = did_you_mean(str(name), known, f"known are {', '.join(known)}.")
            raise InputError(f"{file}: there is no {where or 'section '}{name}; {hint}")


def _section(file: Path, contents: Mapping[str, Any], name: str, where: str | None = None) -> dict[str, Any]:
    section = contents.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{file}: {where or name} is {short_repr(section)}; write it as a section, [{where or name}].")
    return section


def _text(file: Path, about: Mapping[str, Any], name: str, otherwise: str) -> str:
    text = about.get(name, otherwise)
    if not isinstance(text, str):
        raise InputError(f"{file}: dataset.{name} is {short_repr(text)}; write a text.")
    return text


def _texts(file: Path, about: Mapping[str, Any], name: str) -> list[str]:
    texts = about.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise InputError(f"{file}: dataset.{name} is {short_repr(texts)}; write a list of texts.")
    return texts


def _task(file: Path, about: Mapping[str, Any]) -> str:
    task = _text(file, about, "task", "retrieval")
    if task not in TASKS:
        raise InputError(f"{file}: dataset.task is {task!r}; it can be {', '.join(TASKS)}.")
    return task


def _directions(file: Path, about: Mapping[str, Any]) -> tuple[str, ...]:
    named = _texts(file, about, "directions") or ["forward", "reverse"]
    if len(named) > 2 or len(set(named)) != len(named):
        raise InputError(
            f"{file}: dataset.directions is {named}; give one name or two different ones, such as t2v and v2t."
        )
    return tuple(named)


def _place(file: Path, where: str, value: Any) -> str:
    """A path of the file as an absolute one; a word that stands for a part, and a part behind ::, stay as they are."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{file}: {where} is {short_repr(value)}; write the path of a file.")
    if value == WORDS.get(where):
        return value
    if is_address(value):
        raise InputError(
            f"{file}: {where} is the address of a store, {without_secrets(value)}; an experiment file names files "
            f"only, since a file cannot make unhub connect anywhere. Write the vectors to a file first."
        )
    if is_network_path(value):
        raise InputError(
            f"{file}: {where} is {value}, on another machine; a file cannot make unhub go there. Copy it here, or give "
            f"it a path on this machine."
        )
    path, separator, part = value.partition(SEPARATOR)
    return str(file.resolve().parent / Path(path).expanduser()) + separator + part


def _wrong_settings(settings: Mapping[str, Any], modality: str) -> Iterable[str]:
    for name, value in settings.items():
        kinds, wanted = KINDS[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            text = f"{value!r}" if isinstance(value, str | int | float | bool | list) else f"{value}"
            yield f"settings.{name} is {text}; write {wanted}."
    if modality and modality not in MODALITIES:
        hint = did_you_mean(modality, MODALITIES, f"it can be {', '.join(MODALITIES)}.")
        yield f"dataset.modality is {modality!r}; {hint}"


def _wrong_test(test: Mapping[str, str], task: str) -> Iterable[str]:
    if "scores" in test and ("queries" in test or "targets" in test):
        yield "test has embeddings and a matrix of scores; leave one of them out."
    wanted = ["targets"] if task == "self-retrieval" else ["queries", "targets"]
    lacking = [each for each in wanted if each not in test]
    if "scores" not in test and lacking:
        yield f"test.{lacking[0]} is missing; name an embedding file, or test.scores a matrix."
    if "labels" in test and "relevant" in test:
        yield "test.labels and test.relevant both say what is right; leave one of them out."
    if "target_labels" in test and "labels" not in test:
        yield "test.target_labels are there without test.labels, those of the queries; name both."


def _wrong_banks(banks: Mapping[str, Mapping[str, str]], *, vectors: bool) -> Iterable[str]:
    asking, others = ("queries", ("targets",)) if vectors else ("scores", ("cross", "target_scores"))
    what = "embeddings" if vectors else "a matrix of scores"
    for name, parts in banks.items():
        for part in parts:
            if part not in (asking, *others, CAPTIONS):
                yield f"banks.{name}.{part} does not go with a test set of {what}; name banks.{name}.{asking}."
        if asking not in parts:
            yield f"banks.{name}.{asking} is missing; a bank is of queries in the first place."
        if not vectors and ("cross" in parts) != ("target_scores" in parts):
            there, lacking = sorted(others, key=lambda part: part not in parts)
            yield f"banks.{name} has {there} but no {lacking}; its targets take both."
    slugs = [slug(name) for name in banks]
    for name in banks:
        if slugs.count(slug(name)) > 1:
            yield f"two banks would be called {slug(name)} in the names of files; give one of them another name."
