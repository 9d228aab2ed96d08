"""HDF5 files: every dataset is a part, read in blocks when it is sliced.

A file that is new to this process is first read by a child process (``hdf5_probe``), which takes a fifth of a second:
the HDF5 library can crash, or loop forever, on a damaged one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unhub.executors import default_memory
from unhub.foundation.optional import require
from unhub.foundation.probing import AnswerCache, ProbeError, probe
from unhub.foundation.regular_files import stamp_at
from unhub.io.address import Address, Contents, Part
from unhub.io.limits import DEFLATE_RATIO, check_loaded_whole, check_stored

_PROBE = Path(__file__).with_name("hdf5_probe.py")
_vetted = AnswerCache()


@dataclass(frozen=True)
class Dataset:
    """An open dataset with the child's facts about it."""

    address: Address
    key: str
    opened: Any
    facts: dict[str, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """() for a dataset without values, too."""
        return self.opened.shape or ()

    def check(self) -> None:
        """An error unless this dataset can be read in blocks, within the file and within memory."""
        if self.facts["problem"] is not None:
            raise self.address.problem(
                f"has a dataset {self.key!r} that {self.facts['problem']}, and that is never read; write it again as a "
                "plain dataset, without compression or with gzip."
            )
        ratio = DEFLATE_RATIO if self.facts["compressed"] else 1
        stored = min(self.facts["stored"], self.address.size)
        check_stored(self.address, self.key, self.facts["bytes"], stored=stored, ratio=ratio)
        check_loaded_whole(self.address, self.key, self.facts["chunk"], what="a single chunk of it")


def read_hdf5(address: Address) -> Contents:
    """The datasets of the file by their path inside it; the file stays open while one of them is in use."""
    return Contents({key: dataset_part(dataset) for key, dataset in datasets(address).items()})


def datasets(address: Address) -> dict[str, Dataset]:
    """The open datasets of the file by their path inside it."""
    h5py = require("h5py", extra="files")
    open(address.path, "rb").close()  # a file that may not be read has its own error
    before = stamp_at(address.path)
    listed = _vetted.answer(address.path, "datasets", lambda: _ask(address))
    file = h5py.File(address.path, "r")
    if stamp_at(address.path) != before:
        raise ProbeError("it was changed while it was read")
    opened_by_key, here = {}, h5py.h5o.get_info(file.id).fileno
    for facts in listed:
        key = facts["key"].encode(errors="surrogateescape").decode(errors="replace")
        opened = file[facts["key"]]
        if h5py.h5o.get_info(opened.id).fileno != here:
            raise ProbeError("a link in it leads to another file")
        opened_by_key[key] = Dataset(address, key, opened, facts)
    return opened_by_key


def dataset_part(dataset: Dataset) -> Part:
    """A dataset as a part; text is loaded as text, numbers stay on disk."""
    if dataset.facts["text"]:
        return Part(dataset.shape, np.dtype("U"), partial(_text, dataset))
    return Part(dataset.shape, dataset.opened.dtype, partial(_numbers, dataset))


def _numbers(dataset: Dataset) -> Any:
    dataset.check()
    if len(dataset.shape) < 2:  # columns of ids and labels are always read whole
        check_loaded_whole(dataset.address, dataset.key, dataset.facts["bytes"])
    return dataset.opened


def _text(dataset: Dataset) -> np.ndarray[Any, Any]:
    """The texts as the child reads them: they are in a heap in which the HDF5 library can loop forever."""
    dataset.check()
    check_loaded_whole(dataset.address, dataset.key, dataset.facts["bytes"])
    return np.array(_ask(dataset.address, text=dataset.facts["key"]), dtype=object).reshape(dataset.shape)


def _ask(address: Address, text: str | None = None) -> Any:
    limit = default_memory()
    request = {"path": str(address.path), "ratio": DEFLATE_RATIO, "limit": limit, "text": text}
    return probe(_PROBE, request, size=address.size, memory=limit)
