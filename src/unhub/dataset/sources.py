"""What a dataset is made of: addresses and arrays, and how each of them travels to another process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.wording import did_you_mean
from unhub.io import FileArray, Rows, relevance_from_labels
from unhub.io.address import SEPARATOR
from unhub.io.arrays import file_behind_map
from unhub.stores import is_address

ALIGNED = ("aligned", "diagonal")
"""words for: query i means target i"""
LABELS = "labels:"
"""before the names of two files of labels, as the command line has it"""


def is_clicks(prior: Any) -> bool:
    """Whether a target prior is the word "clicks"."""
    return isinstance(prior, str) and prior == "clicks"


@dataclass(frozen=True, eq=False)
class Bank:
    """What a method learns from. Each part is an address (str or Path), an array, a tensor, or None.

    queries: (bank, dim) past queries, not those of the test. Without them, and without ``scores``, the test queries are
        the bank, and the result is transductive.
    targets: (bank targets, dim) other targets, for dbsn and dualis.
    weights: (bank,) how much each query counts.
    scores: (bank, gallery) instead of embeddings.
    cross_scores: (bank, bank targets).
    target_scores: (bank targets, gallery).
    captions: what its queries say, one line each.
    """

    queries: Any = None
    targets: Any = None
    weights: Any = None
    scores: Any = None
    cross_scores: Any = None
    target_scores: Any = None
    captions: Any = None

    @property
    def empty(self) -> bool:
        """Whether it has no part at all."""
        return all(getattr(self, each.name) is None for each in fields(self))

    @property
    def own_queries(self) -> bool:
        """Whether it has queries of its own; otherwise the test queries are the bank."""
        return self.queries is not None or self.scores is not None

    @property
    def has_targets(self) -> bool:
        """Whether methods of two banks can learn from it."""
        return self.targets is not None or self.cross_scores is not None

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: portable(getattr(self, each.name)) for each in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


NO_BANK = Bank()
ARGUMENTS = {
    "queries": "query_bank",
    "targets": "target_bank",
    "weights": "query_weight",
    "scores": "query_bank_scores",
    "cross_scores": "cross_bank_scores",
    "target_scores": "target_bank_scores",
    "captions": "bank_captions",
}
"""part of a bank -> the argument that it is in the functions"""


@dataclass(frozen=True)
class Labels:
    """Relevance by class: every target with the query's label is right for it. Arrays, lists or files."""

    queries: Any
    targets: Any

    @classmethod
    def parse(cls, text: str) -> Labels:
        """Of "labels:queries.txt,targets.txt"; one file for both, or an npz with both, may come alone."""
        own, _, others = text.removeprefix(LABELS).partition(",")
        both_in_one = own.partition(SEPARATOR)[0].endswith(".npz") and not others
        return cls(own, None if both_in_one else others or own)


def relevance_source(relevant: Any, shape: tuple[int, int], *, allow_empty: bool) -> Any:
    """What ``relevant`` means, as ``read_relevance`` takes it; shape: (queries, targets)."""
    if isinstance(relevant, str) and relevant in ALIGNED:
        queries, targets = shape
        if queries != targets:
            raise InputError(
                "relevant",
                f"is {relevant!r} (query i means target i), but {queries:,} queries and {targets:,} targets are not "
                "aligned",
                "give a file that says which targets are right",
            )
        return np.arange(queries)
    if isinstance(relevant, str) and not os.path.exists(relevant):
        hint = did_you_mean(os.path.basename(relevant), ALIGNED)
        if hint:
            raise InputError("relevant", f"is {relevant!r}, and there is no such file", hint)
    if isinstance(relevant, Labels):
        return relevance_from_labels(relevant.queries, relevant.targets, allow_empty=allow_empty)
    return relevant


def portable(source: Any) -> Any:
    """The source as it travels to another process: what is in a file goes as its address, not as its bytes."""
    if isinstance(source, str | os.PathLike):
        return source if is_address(source) or source in ALIGNED else _absolute(os.fspath(source))
    if isinstance(source, np.ndarray):
        mapped = file_behind_map(source, name="an array")
        return source if mapped is None else mapped
    if isinstance(source, Rows):
        if isinstance(source.data, np.ndarray):
            return replace(source, data=portable(source.data))
        in_file = source.source is not None and not is_address(source.source)
        return source if isinstance(source.data, FileArray) or not in_file else source.source
    if isinstance(source, Labels):
        return Labels(portable(source.queries), portable(source.targets))
    opened = getattr(getattr(source, "file", None), "filename", None)
    if opened is not None and hasattr(source, "name"):  # a data set of an open HDF5 file
        return f"{_absolute(opened)}{SEPARATOR}{source.name.lstrip('/')}"
    return source


def _absolute(path: str) -> str:
    head, mark, key = os.path.expanduser(path).partition(SEPARATOR)
    return os.path.abspath(head) + mark + key
