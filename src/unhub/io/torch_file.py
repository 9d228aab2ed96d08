"""Torch's own files, ``.pt`` and ``.pth``: tensors only, never other pickled objects; read whole."""

from __future__ import annotations

import math
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from unhub.foundation.optional import require
from unhub.io.address import WHOLE, Address, Contents, Part
from unhub.io.arrays import is_tensor, tensor_array
from unhub.io.limits import check_opcodes, check_size

OLDEST_TORCH = "2.10"
"""as in pyproject.toml"""
WHY = "torch.load of older ones can run code in a file, even with weights_only (CVE-2025-32434, CVE-2026-24747)"

_BYTES = {
    "ComplexDouble": 16, "ComplexFloat": 8, "Double": 8, "Long": 8, "Float": 4, "Int": 4, "QInt32": 4,
    "Half": 2, "BFloat16": 2, "Short": 2,
}  # fmt: skip
"""bytes of each value in a storage; one byte in any other"""

_DICTIONARIES = ("collections.OrderedDict", "collections.Counter")
ARCHIVE = b"PK\x03\x04"
"""the first bytes of a torch file that is a zip archive; torch checks nothing else"""
_OLD_PICKLES = 5  # of the old format: magic number, version, machine, the value, the order of its storages


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
        yield key, Part.of(tensor_array(value, name=f"{name} {key!r}" if key else name))
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _walk(item, f"{key}.{inner}".lstrip("."), name)
    elif isinstance(value, list | tuple) and _is_column(value):
        yield key, Part.of(np.asarray(value))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(item, f"{key}.{index}".lstrip("."), name)


def _is_column(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list holds plain text or whole numbers: ids, labels."""
    return bool(values) and any(all(isinstance(item, kind) for item in values) for kind in (str, int))


def check_tensors(address: Address, file: BinaryIO) -> None:
    """An error if the torch file promises more than it has, or more than there is memory for."""
    size = file.seek(0, 2)
    file.seek(0)
    if file.read(len(ARCHIVE)) == ARCHIVE:
        _check_archive(address, file)
        return
    file.seek(0)
    with suppress(tarfile.TarError):  # torch tries the format of its first months before any pickle
        tarfile.open(fileobj=file, mode="r:").close()
        raise ValueError("it is a tar archive, which torch has not written since 2017")
    file.seek(0)
    survey = _Survey(address)
    for _ in range(_OLD_PICKLES):
        survey.read(file)
    if survey.total > size:
        raise address.truncated(expected=survey.total, actual=size)
    file.seek(0)


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
                        raise address.truncated(expected=size, actual=sizes[key])


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
        """Reads the next pickle without making anything that it names."""
        check_opcodes(file)
        _SurveyUnpickler(file, self).load()

    def storage(self, reference: Any) -> _Storage:
        """A storage that the pickle refers to: ("storage", its type, its key, where it was, how many values)."""
        if not (isinstance(reference, tuple) and len(reference) >= 5 and isinstance(reference[1], _Name)):
            raise pickle.UnpicklingError("it refers to something that is no storage")
        kind, key, count = reference[1].name.removesuffix("Storage"), reference[2], reference[4]
        if not isinstance(key, str) or not isinstance(count, int) or count < 0:
            raise ValueError("it has a storage without a length")
        item = _BYTES.get(kind, 1)
        self.storages[key] = count * item
        check_size(self.address, self.total)
        return _Storage(item)

    def tensor(self, storage: Any, _: Any = None, shape: Any = (), *__: Any) -> None:
        """A tensor of a storage; it may repeat the same number many times."""
        if isinstance(storage, _Storage) and isinstance(shape, tuple | list):
            numbers = [each for each in shape if isinstance(each, int)]
            check_size(self.address, math.prod(numbers) * storage.item)


@dataclass(frozen=True)
class _Name:
    """Something that a pickle names; a call only records what it would make."""

    module: str
    name: str
    survey: _Survey

    def __call__(self, *args: Any) -> Any:
        whole = f"{self.module}.{self.name}"
        if self.module == "torch._utils" and "tensor" in self.name:
            self.survey.tensor(*args)
        elif whole == "builtins.bytearray":
            if not (args and isinstance(args[0], str | bytes)):
                raise ValueError("it asks for a bytearray of a length alone")
        elif self.name.endswith("Storage") or (self.module.startswith("torch") and self.name.endswith("Tensor")):
            raise ValueError(f"it calls {whole}, which torch.save never does")
        return AttributelessDict() if whole in _DICTIONARIES else _Nothing()


class _Nothing:
    """What a name would have made; attributes, such as the versions of a model's parts, are dropped."""

    def __setstate__(self, state: Any) -> None:
        pass


class AttributelessDict(_Nothing, dict[Any, Any]):
    """A dictionary whose attributes are dropped."""


class _SurveyUnpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, survey: _Survey) -> None:
        super().__init__(file, encoding="latin1")
        self._survey = survey

    def find_class(self, module: str, name: str, /) -> Any:
        return _Name(module, name, self._survey)

    def persistent_load(self, reference: Any, /) -> Any:
        return self._survey.storage(reference)
