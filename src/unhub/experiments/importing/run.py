"""From published files to the folder of an experiment: its arrays, texts and experiment file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from unhub.experiments.importing.answers import Answers, Targets, from_file, in_order, read_captions
from unhub.experiments.importing.arrays import SourceArrays, read_scores, read_vectors
from unhub.experiments.importing.matrices import Matrix
from unhub.experiments.importing.reading import Dump, Opener
from unhub.foundation.atomic import complete_folder
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray, Progress
from unhub.foundation.wording import argument, did_you_mean, setting
from unhub.io import Ids, read_ids

DIRECTIONS = {"image": ("t2i", "i2t"), "video": ("t2v", "v2t"), "audio": ("t2a", "a2t")}
"""from texts to the targets of a modality, and back, as the paper calls them"""
FILE = "experiment.toml"
CHANCE = 3.0
"""times the share that chance gives: with no more, scores and answers do not belong together"""
FEWEST_TO_DOUBT = 20
"""targets: with fewer, chance gives many"""


@dataclass(frozen=True)
class WrittenFile:
    """One file of the folder: its name, its shape, and its source."""

    file: str
    shape: tuple[int, ...]
    source: str


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    experiment: Path
    name: str
    model: str
    queries: int
    targets: int
    left_out: int
    """published queries that were masked or padding"""
    divisor: float
    """what scores were divided by"""
    settings: dict[str, Any]
    parts: dict[str, WrittenFile]
    """by the place where the experiment file names them"""
    notes: tuple[str, ...]


def import_published(
    out: str | os.PathLike[str],
    dump: Dump,
    *,
    name: str | None = None,
    model: str = "model",
    modality: str | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Makes a folder of float32 arrays and an experiment file that names them; it is complete or not there.

    name, model: as the experiment calls them. modality: what the targets are, image, video or audio, if queries are
    texts; it names the directions.
    """
    if modality is not None and modality not in DIRECTIONS:
        advice = did_you_mean(modality, DIRECTIONS, f"choose {', '.join(DIRECTIONS)}")
        raise InputError("modality", f"is {modality!r}", advice)
    place, opener = _free_place(out), Opener(dump.trust)
    arrays = read_vectors(opener, dump) if dump.scores is None else read_scores(opener, dump.scores, dump)
    ids = None if dump.target_ids is None else _ids(dump.target_ids, arrays.targets)
    answers = _answers(opener, arrays, dump, ids)
    whole = len(answers.target) == len(arrays.used)
    target = answers.target[arrays.used] if whole else answers.target
    texts: dict[str, Sequence[str] | None] = {"captions": None, "target_ids": ids}
    if dump.captions is not None:
        known = answers.target if whole else None
        texts["captions"] = read_captions(opener, dump.captions, ids=ids, target=known, used=arrays.used, left=target)
    directions = DIRECTIONS.get(modality or "", ("forward", "reverse"))
    about = {"name": name or place.name, "model": model, "directions": directions}
    about |= {} if modality is None else {"modality": modality}
    notes = (*arrays.notes, answers.note, *_doubt(arrays, dump, target))
    parts = {where: WrittenFile(_file(where), each.shape, each.file.place) for where, each in arrays.parts.items()}
    with complete_folder(place) as folder:
        for where, matrix in arrays.parts.items():
            _save(folder / parts[where].file, matrix, progress)
        if not np.array_equal(target, np.arange(arrays.targets.count)):
            np.save(folder / "relevant.npy", target)
            parts["test.relevant"] = WrittenFile("relevant.npy", target.shape, dump.relevant or "the order of the rows")
        for part, lines in texts.items():
            if lines is not None:
                (folder / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
                parts[f"test.{part}"] = WrittenFile(f"{part}.txt", (len(lines),), str(getattr(dump, part)))
        text = experiment_text(about, _sections(parts), arrays.settings, notes)
        (folder / FILE).write_text(text, encoding="utf-8")
    sizes = {"queries": len(target), "targets": arrays.targets.count, "left_out": len(arrays.used) - len(target)}
    return Imported(
        place / FILE, name or place.name, model, **sizes,
        divisor=arrays.divisor, settings=arrays.settings, parts=parts, notes=notes,
    )  # fmt: skip


def _answers(opener: Opener, arrays: SourceArrays, dump: Dump, ids: Sequence[str] | None) -> Answers:
    """The target of each published query, or of each that is left."""
    published, left = len(arrays.used), int(arrays.used.sum())
    answers = arrays.answers
    if dump.relevant is not None:
        answers = from_file(opener, dump.relevant, arrays.targets, first=dump.first, ids=ids)
    elif answers is None:
        answers = in_order(published, arrays.targets)
    if answers is None:
        turned = dump.scores is not None and arrays.targets.published % published == 0
        hint = f"if rows are targets, pass {setting('transpose', True)}; otherwise " if turned else ""
        raise InputError(
            f"{published:,} queries do not divide evenly among {arrays.targets.count:,} targets; {hint}give "
            f"{argument('relevant')}, a file with the target of each query."
        )
    if len(answers.target) not in (published, left):
        raise InputError(
            f"{argument('relevant')}: {dump.relevant} has {len(answers.target):,} targets but there are {left:,} "
            f"queries; give one for each."
        )
    return answers


def _doubt(arrays: SourceArrays, dump: Dump, target: IntArray) -> tuple[str, ...]:
    """A sentence where scores contradict the order of the rows: no more queries have their target first than chance."""
    scores = arrays.parts.get("test.scores")
    if scores is None or dump.relevant is not None or arrays.targets.count < FEWEST_TO_DOUBT:
        return ()
    hits = sum(int((rows.argmax(axis=1) == target[start : start + len(rows)]).sum()) for start, rows in scores.blocks())
    share = hits / len(target)
    if share > CHANCE / arrays.targets.count:
        return ()
    return (
        f"only {share:.1%} of the queries have this target first, no more than by chance: the order of the rows is "
        f"probably another one; give a file with the right targets",
    )


def _ids(source: str, targets: Targets) -> tuple[str, ...]:
    """The id of each target; of targets that repeat, the ids may repeat too."""
    ids = read_ids(source, name="target_ids")
    if len(ids) == targets.published and targets.firsts is not None:
        ids = Ids(ids[row] for row in targets.firsts)
    if len(ids) != targets.count:
        raise InputError(
            f"{argument('target_ids')}: {source} has {len(ids):,} ids but there are {targets.count:,} targets."
        )
    if len(set(ids)) != len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise InputError(f"{argument('target_ids')}: {source} has the id {twice!r} twice; each target needs its own.")
    return ids


def experiment_text(
    about: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, WrittenFile]],
    settings: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """TOML. sections: the parts of the test set and of each bank. notes: what was changed."""
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


def _free_place(path: str | os.PathLike[str]) -> Path:
    """Where the folder will be; an error if it is in use or cannot be written."""
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


def _save(path: Path, matrix: Matrix, progress: Progress | None) -> None:
    """Writes the rows as float32, a block at a time."""
    rows, columns = matrix.shape
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, header)
        for start, block in matrix.blocks():
            file.write(block.astype("<f4", copy=False).tobytes())
            if progress is not None:
                progress(path.name, start + len(block), rows)


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
