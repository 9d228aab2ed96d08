"""Relevance from classes: every target with the query's label is right for it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io.address import Address, check_is_file, check_not_empty, find
from unhub.io.arrays import as_array
from unhub.io.columns import read_column
from unhub.io.formats import FORMATS, check_extension
from unhub.io.text import read_lines
from unhub.metrics.relevance import Relevance

_LINES = ".txt"


def relevance_from_labels(query_labels: Any, target_labels: Any = None, *, allow_empty: bool = False) -> Relevance:
    """The relevance of two lists of labels: arrays, lists or files (txt with one per line, npy, npz::key).

    A single npz or other file of arrays may hold both, as ``query_labels`` and ``target_labels``.

    >>> relevance_from_labels(["cat", "dog"], ["dog", "cat", "cat"]).counts.tolist()
    [2, 1]
    """
    if target_labels is None:
        if not isinstance(query_labels, str | os.PathLike):
            raise InputError("target_labels is missing; give the labels of the queries and of the targets.")
        both = find(query_labels, name="labels")
        own, others = (read_column(replace(both, key=key)) for key in ("query_labels", "target_labels"))
    else:
        own, others = _read(query_labels, "query_labels"), _read(target_labels, "target_labels")
    if own.dtype.kind != others.dtype.kind and "U" in own.dtype.kind + others.dtype.kind:
        own, others = own.astype(str), others.astype(str)  # a text file beside an array of numbers
    return Relevance.from_labels(own, others, allow_empty=allow_empty)


def _read(source: Any, name: str) -> AnyArray:
    labels = _from_file(find(source, name=name)) if isinstance(source, str | os.PathLike) else None
    array = as_array(source, name=name) if labels is None else labels
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; give one label for each row.")
    return array.astype(str) if array.dtype.kind in "OST" else array


def _from_file(address: Address) -> AnyArray:
    if address.path.suffix.lower() != _LINES:
        if address.path.is_file():
            check_extension(address, [_LINES, *FORMATS])
        return read_column(address)
    check_is_file(address)
    check_not_empty(address)
    return np.array(read_lines(address))
