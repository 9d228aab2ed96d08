"""A gallery that lives in a vector store: read once, in blocks, into a file of its own that ends with the process."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, StoreError
from unhub.foundation.regular_files import is_network_path
from unhub.foundation.types import AnyArray, IntArray, Progress, Sliceable
from unhub.io import FileArray, Rows, open_rows, with_ids
from unhub.io.address import SEPARATOR
from unhub.scores.selection import SelectedRows, runs
from unhub.stores import Collection, Description, is_address, open_store
from unhub.stores.address import without_secrets


def open_source(source: Any, *, name: str, progress: Progress | None = None) -> Rows:
    """The matrix behind anything that ``open_rows`` takes, or behind the address of a store."""
    return (
        open_store_rows(source, name=name, progress=progress)[0] if is_address(source) else open_rows(source, name=name)
    )


def open_store_rows(address: str, *, name: str, progress: Progress | None = None) -> tuple[Rows, Description]:
    """Every vector of the store at an address, and what the store says of itself; it is connected to once."""
    collection = open_store(address)
    try:
        described = collection.describe()
        return read_gallery(collection, described, name=name, progress=progress), described
    finally:
        collection.close()


def open_noted(source: str, *, name: str) -> Rows:
    """The matrix at a path that a file notes, if it is a file on this machine; nobody is connected to.

    A file may come from somebody else. What it names is only read, never asked over a network: an address of a store,
    or a path that begins with two slashes, which Windows would log in to, is refused.
    """
    assert not is_address(source), "an address that a file notes is never followed"
    if is_network_path(source):
        raise InputError(f"{source} is on another machine, and a file cannot make unhub go there.")
    place = os.path.expanduser(source)
    if not os.path.exists(place):
        place = place.partition(SEPARATOR)[0]
    if os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)):
        raise InputError(f"{place} is not a regular file.")
    return open_rows(source, name=name)


def unnamed_store(address: str, how: str, *, file: str = "this correction") -> InputError:
    """The error for a store that only a file names; ``how`` says what to pass, with {} where the address goes."""
    shown = without_secrets(address)
    return InputError(
        f"{file} says that its gallery is in {shown}; a file cannot make unhub connect anywhere. If that is your "
        f"store, {how.format(shlex.quote(shown))}."
    )


def read_gallery(
    collection: Collection, described: Description, *, name: str, progress: Progress | None = None
) -> Rows:
    """Every vector of a collection with its id, in the order of its scan, mapped from a temporary file."""
    if described.count == 0:
        raise InputError(f"{name}: {described.url} is empty; fill it first.")
    ids: list[str] = []
    # it lives as long as what is mapped of it
    file = tempfile.TemporaryFile(prefix="unhub-gallery-")  # noqa: SIM115
    for block in collection.scan():
        file.write(np.ascontiguousarray(block.vectors, dtype=np.float32).tobytes())
        ids.extend(block.ids)
        if progress is not None:
            progress("reading the store", len(ids), max(described.count, len(ids)))
    file.flush()
    _refuse_change(collection, described, ids)
    vectors = np.memmap(file, dtype=np.float32, mode="r", shape=(len(ids), described.dim))
    return with_ids(Rows(vectors, source=described.url, name=name), ids)


def _refuse_change(collection: Collection, described: Description, ids: list[str]) -> None:
    """An error if the collection was written to while it was read, as far as counts and ids can tell."""
    repeated = len(ids) - len(set(ids))
    now = len(ids) if collection.abilities.snapshot else collection.describe().count
    if repeated or not len(ids) == described.count == now:
        raise StoreError(
            f"{described.url} changed while it was read: {described.count:,} items before, {now:,} after, {len(ids):,} "
            f"read, {repeated:,} of them twice; run it again when nothing is written there."
        )


class Permuted(SelectedRows):
    """Rows of a matrix in another order, or some of them; arrays and files pick them themselves."""

    def __getitem__(self, rows: slice) -> AnyArray:
        return take(self.data, self.order[rows])


def take(data: Sliceable, rows: IntArray) -> AnyArray:
    """These rows of a matrix, in the type they are stored in; neighbours are read together."""
    if isinstance(data, np.ndarray | FileArray):
        picked: AnyArray = data[rows]
        return picked
    return np.concatenate([np.asarray(data[low:high]) for low, high in runs(rows)] or [data[0:0]])


def some_rows(rows: Rows, which: IntArray) -> Rows:
    """Some rows in memory, in the type they are stored in; all of them as they are."""
    if len(which) == len(rows):
        return rows
    ids = None if rows.ids is None else tuple(rows.ids[row] for row in which.tolist())
    quick = isinstance(rows.data, np.ndarray | FileArray)  # these can pick rows themselves
    return Rows(take(rows.data if quick else rows, which), ids, None, rows.name)


def chosen_rows(rows: Rows, which: IntArray) -> Rows:
    """Some rows: of an array in memory, of a file read when they are needed."""
    if isinstance(rows.data, np.ndarray):
        return some_rows(rows, which)
    ids = None if rows.ids is None else tuple(rows.ids[row] for row in which.tolist())
    return Rows(Permuted(rows.data if isinstance(rows.data, FileArray) else rows, which), ids, rows.source, rows.name)


def in_order(rows: Rows, ids: tuple[str, ...] | None) -> Rows:
    """The rows in the order of these ids, where both have ids and they are the same; otherwise as they are."""
    if ids is None or rows.ids is None or rows.ids == ids or len(ids) != len(rows.ids):
        return rows
    places = {each: row for row, each in enumerate(rows.ids)}
    if any(each not in places for each in ids):
        return rows
    order = np.fromiter((places[each] for each in ids), dtype=np.int64, count=len(ids))
    direct = isinstance(rows.data, np.ndarray | FileArray)  # these can pick rows themselves
    return Rows(Permuted(rows.data if direct else rows, order), ids, rows.source, rows.name)
