"""From published files to the folder of an experiment."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhub.experiments.importing.answers import Answers, Targets, from_file, in_order, read_captions, unknown_targets
from unhub.experiments.importing.arrays import SourceArrays, read_scores, read_vectors
from unhub.experiments.importing.dump import Dump
from unhub.experiments.importing.reading import Opener
from unhub.experiments.importing.writing import FILE, FolderContents, WrittenFile, free_place, write_folder
from unhub.foundation.errors import InputError
from unhub.foundation.types import IntArray, Progress
from unhub.foundation.wording import argument
from unhub.io import Ids, read_ids

DIRECTIONS = {"image": ("t2i", "i2t"), "video": ("t2v", "v2t"), "audio": ("t2a", "a2t")}
"""from texts to the targets of a modality, and back, as the paper calls them"""

UNKNOWN = ("forward", "reverse")


@dataclass(frozen=True)
class Imported:
    """What an import has made."""

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


CHANCE = 3.0
"""times the share that chance gives: with no more, scores and answers do not belong together"""
FEWEST_TO_DOUBT = 20
"""targets: with fewer, chance gives many"""


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
        near = difflib.get_close_matches(modality, DIRECTIONS, 1)
        advice = f"did you mean {near[0]}?" if near else f"choose {', '.join(DIRECTIONS)}"
        raise InputError("modality", f"is {modality!r}", advice)
    place, opener = free_place(out), Opener(dump.trust)
    found = _gathered(opener, dump)
    ids = None if dump.target_ids is None else _ids(dump.target_ids, found.targets)
    answers = _answers(opener, found, dump, ids)
    whole = len(answers.target) == len(found.used)
    target = answers.target[found.used] if whole else answers.target
    captions = None
    if dump.captions is not None:
        known = answers.target if whole else None
        captions = read_captions(opener, dump.captions, ids=ids, target=known, used=found.used, left=target)
    about = {"name": name or place.name, "model": model, "directions": DIRECTIONS.get(modality or "", UNKNOWN)}
    notes = (*found.notes, answers.note, *_doubt(found, dump, target))
    plan = FolderContents(
        about if modality is None else about | {"modality": modality},
        found.parts, target, found.targets.count, captions, ids, found.settings, notes,
    )  # fmt: skip
    parts = write_folder(place, plan, dump, progress)
    return Imported(
        experiment=place / FILE,
        name=name or place.name,
        model=model,
        queries=len(target),
        targets=found.targets.count,
        left_out=len(found.used) - len(target),
        divisor=found.divisor,
        settings=found.settings,
        parts=parts,
        notes=notes,
    )


def _gathered(opener: Opener, dump: Dump) -> SourceArrays:
    if dump.scores is not None:
        return read_scores(
            opener, dump.scores, dump.banks, masks=dump.masks, transpose=dump.transpose, scale=dump.scale
        )
    assert dump.queries is not None
    assert dump.targets is not None
    return read_vectors(opener, dump.queries, dump.targets, dump.banks, masks=dump.masks)


def _answers(opener: Opener, found: SourceArrays, dump: Dump, ids: Sequence[str] | None) -> Answers:
    """The target of each published query, or of each that is left."""
    published, left = len(found.used), int(found.used.sum())
    answers = found.answers
    if dump.relevant is not None:
        answers = from_file(opener, dump.relevant, found.targets, first=dump.first, ids=ids)
    elif answers is None:
        answers = in_order(published, found.targets)
    if answers is None:
        raise unknown_targets(published, found.targets, matrix=dump.scores is not None)
    if len(answers.target) not in (published, left):
        raise InputError(
            f"{argument('relevant')}: {dump.relevant} has {len(answers.target):,} targets but there are {left:,} "
            f"queries; give one for each."
        )
    return answers


def _doubt(found: SourceArrays, dump: Dump, target: IntArray) -> tuple[str, ...]:
    """A sentence where scores contradict the order of the rows: no more queries have their target first than chance."""
    scores = found.parts.get("test.scores")
    if scores is None or dump.relevant is not None or found.targets.count < FEWEST_TO_DOUBT:
        return ()
    hits = sum(int((rows.argmax(axis=1) == target[start : start + len(rows)]).sum()) for start, rows in scores.blocks())
    share = hits / len(target)
    if share > CHANCE / found.targets.count:
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
