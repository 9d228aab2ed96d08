"""Torch's own files, ``.pt`` and ``.pth``: tensors only, never other pickled objects; read whole."""

from __future__ import annotations

import math
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.optional import require
from unhub.io.address import Address, truncated_file
from unhub.io.arrays import is_tensor, tensor_array
from unhub.io.contents import WHOLE, Contents, Part
from unhub.io.limits import check_size
from unhub.io.pickle_scan import scan

OLDEST_TORCH = "2.10"
"""as in pyproject.toml"""
WHY = "torch.load of older ones can run code that is in a file, even with weights_only (CVE-2025-32434, CVE-2026-24747)"


def read_torch(address: Address) -> Contents:
    """The tensors of the file; those inside dictionaries and lists are named ``outer.inner``."""
    torch = require("torch", extra="torch", at_least=OLDEST_TORCH, why=WHY)
    try:
        with address.open() as file:
            check_tensors(address, file)
        value = torch.load(address.path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if not zipfile.is_zipfile(address.path):
            raise
        raise address.problem(
            "holds pickled Python objects other than tensors, which can run code when opened and are never "
            "read; save the tensor alone: torch.save(tensor, path)."
        ) from error
    return Contents(dict(_walk(value, WHOLE, address.name)))


def _walk(value: Any, key: str, name: str) -> Iterator[tuple[str, Part]]:
    if is_tensor(value):
        yield key, _part(tensor_array(value, name=f"{name} {key!r}" if key else name))
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _walk(item, f"{key}.{inner}".lstrip("."), name)
    elif isinstance(value, list | tuple) and _is_column(value):
        yield key, _part(np.asarray(value))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(item, f"{key}.{index}".lstrip("."), name)


def _is_column(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list holds plain text or whole numbers: ids, labels."""
    return bool(values) and (
        all(isinstance(item, str) for item in values) or all(isinstance(item, int) for item in values)
    )


def _part(array: np.ndarray[Any, Any]) -> Part:
    return Part(array.shape, array.dtype, lambda: array)


_BYTES = {
    "ComplexDouble": 16, "ComplexFloat": 8, "Double": 8, "Long": 8, "Float": 4, "Int": 4, "QInt32": 4,
    "Half": 2, "BFloat16": 2, "Short": 2,
}  # fmt: skip
"""of each value in a storage; one byte in any other"""

_DICTIONARIES = ("collections.OrderedDict", "collections.Counter")
ARCHIVE = b"PK\x03\x04"
"""how a torch file begins that is a zip archive; torch looks at nothing else"""
_OLD_PICKLES = 5  # a file of the old format: magic number, version, machine, the value, the order of its storages


def check_tensors(address: Address, file: BinaryIO) -> None:
    """An error if the torch file promises more than it has, or more than there is memory for."""
    size = file.seek(0, 2)
    file.seek(0)
    if file.read(len(ARCHIVE)) == ARCHIVE:
        _check_archive(address, file)
        return
    _check_no_tar(file)
    file.seek(0)
    survey = _Survey(address)
    for _ in range(_OLD_PICKLES):
        survey.read(file)
    if survey.total > size:
        raise truncated_file(address, expected=survey.total, found=size)
    file.seek(0)


def _check_no_tar(file: BinaryIO) -> None:
    """Torch tries the format of its first months before it looks at any pickle."""
    file.seek(0)
    try:
        tarfile.open(fileobj=file, mode="r:").close()
    except tarfile.TarError:
        return
    raise ValueError("it is a tar archive, which torch has not written since 2017")


def _check_archive(address: Address, file: BinaryIO) -> None:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        check_size(address, sum(member.file_size for member in members))
        sizes = {member.filename.rpartition("/data/")[2]: member.file_size for member in members}
        for member in members:
            if member.filename.endswith("data.pkl"):
                survey = _Survey(address)
                survey.read(BytesIO(archive.read(member)))
                for key, size in survey.storages.items():
                    if key in sizes and sizes[key] < size:
                        raise truncated_file(address, expected=size, found=sizes[key])


@dataclass
class _Storage:
    """The numbers of a tensor: how many bytes each takes."""

    item: int


@dataclass
class _Survey:
    """What the pickles of a file promise: the bytes of each storage by its key."""

    address: Address
    storages: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The bytes of all storages."""
        return sum(self.storages.values())

    def read(self, file: BinaryIO) -> None:
        """Looks at the next pickle."""
        scan(file)
        _StandIns(file, self).load()

    def storage(self, given: Any) -> _Storage:
        """A storage that the pickle refers to: ("storage", its type, its key, where it was, how many values)."""
        if not (isinstance(given, tuple) and len(given) >= 5 and isinstance(given[1], _Name)):
            raise pickle.UnpicklingError("it refers to something that is no storage")
        kind, key, count = given[1].name.removesuffix("Storage"), given[2], given[4]
        if not isinstance(key, str) or not isinstance(count, int) or count < 0:
            raise ValueError("it has a storage without a length")
        item = _BYTES.get(kind, 1)
        self.storages[key] = count * item
        check_size(self.address, self.total)
        return _Storage(item)

    def tensor(self, storage: Any, _: Any = None, shape: Any = (), *__: Any) -> None:
        """A tensor of a storage; it may show the same number many times."""
        if isinstance(storage, _Storage) and isinstance(shape, tuple | list):
            numbers = [each for each in shape if isinstance(each, int)]
            check_size(self.address, math.prod(numbers) * storage.item)


@dataclass(frozen=True)
class _Name:
    """Something that a pickle names; called, it only notes what it would make."""

    module: str
    name: str
    survey: _Survey

    def __call__(self, *given: Any) -> Any:
        whole = f"{self.module}.{self.name}"
        if self.module == "torch._utils" and "tensor" in self.name:
            self.survey.tensor(*given)
        elif whole == "builtins.bytearray":
            if not (given and isinstance(given[0], str | bytes)):
                raise ValueError("it asks for a bytearray of a length alone")
        elif self.name.endswith("Storage") or (self.module.startswith("torch") and self.name.endswith("Tensor")):
            raise ValueError(f"it calls {whole}, which torch.save never does")
        return _Dictionary() if whole in _DICTIONARIES else _Nothing()


class _Dictionary(dict[Any, Any]):
    """A dictionary that takes attributes, such as the versions of a model's parts, and drops them."""

    def __setstate__(self, state: Any) -> None:
        pass


class _Nothing:
    """What a name would have made; an order may add to it, which changes nothing."""

    def __setstate__(self, state: Any) -> None:
        pass


class _StandIns(pickle.Unpickler):
    def __init__(self, file: BinaryIO, survey: _Survey) -> None:
        super().__init__(file, encoding="latin1")
        self._survey = survey

    def find_class(self, module: str, name: str, /) -> Any:
        return _Name(module, name, self._survey)

    def persistent_load(self, given: Any, /) -> Any:
        return self._survey.storage(given)
