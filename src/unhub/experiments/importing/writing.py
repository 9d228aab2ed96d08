"""The folder of an imported experiment: its arrays, texts and experiment file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from unhub.experiments.importing.dump import Dump
from unhub.experiments.importing.matrices import Matrix
from unhub.foundation.atomic import complete_folder
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray, Progress


@dataclass(frozen=True)
class WrittenFile:
    """One file of the folder: its name, its shape, and where it came from."""

    file: str
    shape: tuple[int, ...]
    source: str


def experiment_text(
    about: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, WrittenFile]],
    settings: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """TOML. sections: the parts of the test set and of each bank. notes: what was done on the way."""
    lines = ["# Imported from published files. Check it with: unhub check experiment.toml"]
    lines += [f"# - {_line(each)}" for each in notes]
    lines += ["", "[dataset]", *_pairs(about)]
    for section, parts in sections.items():
        lines += ["", f"[{section}]"]
        for name, part in parts.items():
            lines += [f"# from {_line(part.source)}", f"{name} = {toml_value(part.file)}"]
    if settings:
        lines += ["", "[settings]", *_pairs(settings)]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    r"""A text, a truth value or a list of texts as TOML writes it.

    >>> print(toml_value('a "b"\n'))
    "a \"b\"\n"
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    plain = value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {toml_value(value)}" for name, value in values.items()]


def _line(text: str) -> str:
    """The text in one line of a comment."""
    return toml_value(text)[1:-1].replace('\\"', '"')


def free_place(path: str | os.PathLike[str]) -> Path:
    """Where the folder will be; an error if something is there, or if it cannot be made."""
    place = Path(os.path.realpath(os.path.expanduser(os.fspath(path))))
    if not place.parent.is_dir():
        raise InputError(f"cannot make {place}: there is no folder {place.parent}; make it first.")
    if place.exists() and not place.is_dir():
        raise InputError(f"cannot make the folder {place}: there is a file of that name; choose another.")
    if place.is_dir() and any(place.iterdir()):
        raise InputError(f"the folder {place} is not empty; choose another, or remove it.")
    if place == Path.cwd():
        raise InputError(f"{place} is the folder you are in; name one that is not there yet.")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"cannot make {place}: permission denied in {place.parent}; choose another place.")
    return place


def save_matrix(path: Path, matrix: Matrix, progress: Progress | None) -> None:
    """Writes the rows as float32, a block at a time."""
    rows, columns = matrix.shape
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, header)
        for start, block in matrix.blocks():
            file.write(block.astype("<f4", copy=False).tobytes())
            if progress is not None:
                progress(path.name, start + len(block), rows)


FILE = "experiment.toml"
BY_ORDER = "the order of the rows"


@dataclass(frozen=True, eq=False)
class FolderContents:
    """Everything that goes into the folder: matrices by their place in the experiment, answers, texts, settings."""

    about: Mapping[str, Any]
    matrices: Mapping[str, Matrix]
    target: IntArray
    """(query,): the target that is right"""
    targets: int
    captions: Sequence[str] | None
    target_ids: Sequence[str] | None
    settings: Mapping[str, Any]
    notes: Sequence[str]


def write_folder(place: Path, plan: FolderContents, dump: Dump, progress: Progress | None) -> dict[str, WrittenFile]:
    """The parts of the folder, which is complete once this comes back."""
    parts = {
        where: WrittenFile(_file(where), matrix.shape, matrix.found.place) for where, matrix in plan.matrices.items()
    }
    texts = {"captions": plan.captions, "target_ids": plan.target_ids}
    with complete_folder(place) as folder:
        for where, matrix in plan.matrices.items():
            save_matrix(folder / parts[where].file, matrix, progress)
        if not np.array_equal(plan.target, np.arange(plan.targets)):
            np.save(folder / "relevant.npy", plan.target)
            parts["test.relevant"] = WrittenFile("relevant.npy", plan.target.shape, dump.relevant or BY_ORDER)
        for name, lines in texts.items():
            if lines is not None:
                (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                parts[f"test.{name}"] = WrittenFile(f"{name}.txt", (len(lines),), str(getattr(dump, name)))
        text = experiment_text(plan.about, _sections(parts), plan.settings, plan.notes)
        (folder / FILE).write_text(text, encoding="utf-8")
    return parts


def _file(where: str) -> str:
    """The name of a file, after its place in the experiment.

    >>> _file("banks.train.scores")
    'bank_train_scores.npy'
    """
    return f"{where.replace('banks.', 'bank.', 1).replace('.', '_')}.npy"


def _sections(parts: Mapping[str, WrittenFile]) -> dict[str, dict[str, WrittenFile]]:
    """The parts of each section of the experiment file."""
    sections: dict[str, dict[str, WrittenFile]] = {}
    for where, part in parts.items():
        section, _, name = where.rpartition(".")
        sections.setdefault(section, {})[name] = part
    return dict(sorted(sections.items(), key=lambda each: each[0] != "test"))
