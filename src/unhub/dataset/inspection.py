"""One array of a dataset with all of its problems, for ``unhub.check``; tasks stop at the first one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from unhub.core.checks import check_dimension, survey_vectors
from unhub.dataset.reader import named
from unhub.dataset.sources import ARGUMENTS
from unhub.foundation.errors import UnhubError
from unhub.foundation.types import Progress
from unhub.io import Rows, open_rows

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Inspection:
    """One array of a dataset, opened, and all of its problems; of vectors also the lengths of the rows."""

    rows: Rows | None = None
    """None where there is no array, or it cannot be opened"""
    problems: tuple[UnhubError, ...] = ()
    lengths: tuple[float, float] | None = None
    unit: bool | None = None


def inspect_vectors(data: Dataset, part: str, bank: str | None, progress: Progress | None) -> Inspection:
    """Embeddings: whether they open, their ids, dimension, and the values and lengths of their rows."""
    source, key = data._vector_source(part, bank), (part,) if bank is None else ("bank", bank, part)
    if source is None:
        return Inspection()
    gallery = key == ("targets",)
    problems: list[UnhubError] = []

    def attempt(call: Callable[[], T]) -> T | None:
        try:
            return call()
        except UnhubError as error:
            problems.append(error)
            return None

    like = None if gallery else data.inspect("targets", progress=progress).rows
    opened: Rows | None = data._opened.get(key)
    if opened is None and data._ids(part, bank) is None and (known := data._opened_before(source)) is not None:
        opened = replace(known, name=part if bank is None else ARGUMENTS[part])
    rows = attempt(lambda: data._load(source, part, bank, progress)) if opened is None else opened
    if rows is None:
        return Inspection(problems=tuple(problems))
    without_ids = rows
    rows = attempt(lambda: named(without_ids, data._ids(part, bank))) or without_ids
    if like is not None:
        attempt(lambda: check_dimension(without_ids, without_ids.name, like, like.name))
    survey = attempt(lambda: survey_vectors(data._reader.kept(without_ids, gallery=gallery)))
    if survey is None:
        return Inspection(rows, tuple(problems))
    problems += data._reader.problems(rows, survey)
    if not problems:
        data._opened.setdefault(key, rows)
    return Inspection(rows, tuple(problems), survey.lengths, survey.unit)


def inspect_matrix(data: Dataset, part: str, bank: str | None, progress: Progress | None) -> Inspection:
    """A matrix of scores: whether it opens, and its values."""
    if data.source(part, bank) is None:
        return Inspection()
    try:
        return Inspection(data._matrix(part, bank))
    except UnhubError as error:
        problem = error
    try:  # its shape is still of use
        rows = open_rows(data.source(part, bank), name=part if bank is None else ARGUMENTS[part])
    except UnhubError:
        return Inspection(problems=(problem,))
    return Inspection(rows, (problem,))
