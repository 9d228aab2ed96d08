"""What the queries say, in the order of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unhub.experiments.importing.reading import Opener
from unhub.foundation.errors import InputError
from unhub.foundation.shown import shown
from unhub.foundation.types import BoolArray, IntArray

NOTHING = "-"
"""in the place of a caption without a word: a line of a text file must have something"""


def read_captions(
    opener: Opener, source: str, *, ids: Sequence[str] | None, target: IntArray | None, kept: BoolArray, left: IntArray
) -> list[str]:
    """A caption for each query that is left.

    The file has one for each published query or for each that is left: a list in their order, or those of each target
    by its id. target: (published query,), where it is known. left: the same of those that are ``kept``.
    """
    told, where = opener.texts(source, "captions"), f"captions: {source}"
    if isinstance(told, dict):
        if ids is None:
            raise InputError(f"{where} has captions by id; give target_ids (--target-ids), the id of each target.")
        named = {str(key): _captions(each, where) for key, each in told.items()}
        count = sum(len(named.get(each, ())) for each in ids)
        found = _by_target(named, where, ids, target if target is not None and count == len(target) else left)
    else:
        found = _captions(told, where)
    if len(found) == len(kept):
        return [each for each, stays in zip(found, kept, strict=True) if stays]
    if len(found) != len(left):
        raise InputError(f"{where} has {len(found):,} captions but there are {len(left):,} queries; give one for each.")
    return found


def _by_target(named: Mapping[str, list[str]], where: str, ids: Sequence[str], target: IntArray) -> list[str]:
    """Captions of targets, given to the queries of each in their order."""
    given = [""] * len(target)
    rows = iter(np.argsort(target, kind="stable").tolist())
    for name, queries in zip(ids, np.bincount(target, minlength=len(ids)).tolist(), strict=True):
        if len(named.get(name, ())) != queries:
            count = f"{len(named[name]):,}" if name in named else "no"
            raise InputError(f"{where} has {count} captions of {name!r}, a target with {queries:,} queries.")
        for text, row in zip(named.get(name, ()), rows, strict=False):
            given[row] = text
    return given


def _captions(told: Any, where: str) -> list[str]:
    return [_caption(each, where) for each in (told if isinstance(told, list) else [told])]


def _caption(told: Any, where: str) -> str:
    """One line of text, from text or from a list of words."""
    words = told if isinstance(told, list) else [told]
    if not all(isinstance(each, str) for each in words):
        raise InputError(f"{where} has {shown(told)} for a caption; give text, or a list of words.")
    return " ".join(" ".join(words).split()) or NOTHING
