"""HDF5 files: every dataset is a part, read in blocks when it is sliced.

A file that is new to this process is first read by a child process (``hdf5_probe``), which takes a fifth of a second:
the HDF5 library can crash, or loop forever, on a damaged one.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    def part(self) -> Part:
        """The dataset as a part; text is loaded as text, numbers stay on disk."""
        return Part(self.shape, np.dtype("U") if self.facts["text"] else self.opened.dtype, self._load)

    def _load(self) -> Any:
        """The open dataset, or its texts, if it can be read within the file and within memory.

        The child reads the texts: they are in a heap in which the HDF5 library can loop forever.
        """
        address, facts = self.address, self.facts
        if facts["problem"] is not None:
            raise address.problem(
                f"has a dataset {self.key!r} that {facts['problem']}, and that is never read; write it again as a "
                "plain dataset, without compression or with gzip."
            )
        ratio = DEFLATE_RATIO if facts["compressed"] else 1
        check_stored(address, self.key, facts["bytes"], stored=min(facts["stored"], address.size), ratio=ratio)
        check_loaded_whole(address, self.key, facts["chunk"], what="a single chunk of it")
        if facts["text"] or len(self.shape) < 2:  # columns of ids and labels are always read whole
            check_loaded_whole(address, self.key, facts["bytes"])
        if not facts["text"]:
            return self.opened
        return np.array(_ask(address, text=facts["key"]), dtype=object).reshape(self.shape)


def read_hdf5(address: Address) -> Contents:
    """The datasets of the file by their path inside it; the file stays open while one of them is in use."""
    return Contents({key: dataset.part() for key, dataset in datasets(address).items()})


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


def _ask(address: Address, text: str | None = None) -> Any:
    limit = default_memory()
    request = {"path": str(address.path), "ratio": DEFLATE_RATIO, "limit": limit, "text": text}
    return probe(_PROBE, request, size=address.size, memory=limit)
