"""Whether the parts of a correction file fit together: types, ranges, shapes, numbers.

A file may come from anybody, and its checksums are its author's own: every field is looked at before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, get_args

import numpy as np

from unhub.core.bias import Status
from unhub.core.fingerprint import SKETCHES, fingerprint
from unhub.foundation import field_checks as checked
from unhub.foundation.types import AnyArray, Similarity
from unhub.methods import additive, settings, stored_method

MOST_ITEMS = 1 << 40
"""targets, bank queries or rounds that a file may speak of"""
LONGEST_TEXT = 10_000
"""characters of a path, a warning, a plan"""
MOST_NOTES = 10_000
"""warnings, or exports"""
ID_BYTES = 4096
"""bytes of an id, on average"""
CHECKED_VALUES = 1 << 20
"""numbers that are looked at together"""

_BANKS = (np.float16, np.float32, np.int8)
DTYPES: Mapping[str, tuple[type[np.generic], ...]] = {
    "bias": (np.float32,),
    "potentials": (np.float32, np.float64),
    "query_weight": (np.float32, np.float64),
    "digests": (np.uint64,),
    "sketches": (np.float32,),
    "ids": (np.uint8,),
    "query_bank": _BANKS,
    "target_bank": _BANKS,
}
"""every tensor that a correction file may hold"""


_LARGEST = 1e300
"""an error, an offset or a mean is smaller than this"""
_TEXT = partial(checked.text, longest=LONGEST_TEXT)
_LINE = partial(checked.optional_line, longest=LONGEST_TEXT)
_TABLE = partial(checked.table, most=MOST_NOTES, longest=LONGEST_TEXT)
_COUNT = partial(checked.whole, most=MOST_ITEMS)
_ERROR = partial(checked.optional_number, least=0, most=_LARGEST)
_FIELDS: Mapping[str, Callable[[Mapping[str, Any], str], object]] = {
    "method": _TEXT,
    "settings": _TABLE,
    "checksums": _TABLE,
    "status": partial(checked.one_of, known=get_args(Status)),
    "iterations": partial(_COUNT, least=0),
    "marginal_error": _ERROR,
    "offset": partial(checked.number, least=-_LARGEST, most=_LARGEST),
    "prior_mean": partial(checked.number, least=1 / _LARGEST, most=_LARGEST),
    "bank_size": partial(_COUNT, least=1),
    "target_bank_size": partial(_COUNT, least=0),
    "metric": partial(checked.one_of, known=get_args(Similarity)),
    "normalize": checked.switch,
    "gallery": partial(_COUNT, least=1),
    "fingerprint": _LINE,
    "targets_source": _LINE,
    "warnings": partial(checked.lines, most=MOST_NOTES, longest=LONGEST_TEXT),
    "error_bound": _ERROR,
    "plan": _LINE,
    "exports": partial(checked.tables, most=MOST_NOTES),
}
"""every field of the metadata; files of earlier versions do not have the last three"""


class Shaped(Protocol):
    """A tensor, or what a header says of one."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many along each axis."""


def check_header(metadata: Mapping[str, Any], tensors: Mapping[str, Shaped]) -> None:
    """Raises ValueError, with what is wrong, unless metadata and shapes describe one correction; no part is read."""
    for name, check in _FIELDS.items():
        check(metadata, name)
    chosen = additive(stored_method(metadata["method"], metadata["settings"]))
    _agree("auto" not in settings(chosen).values(), "its temperature was never settled")
    _agree(chosen.potentials == ("potentials" in tensors), "its potentials do not fit its method")
    _agree(
        (metadata["target_bank_size"] > 0) == ("targets" in chosen.requires), "its target bank does not fit its method"
    )
    both = {"query_bank", "target_bank"} if "targets" in chosen.requires else {"query_bank"}
    _agree({"query_bank", "target_bank"} & set(tensors) in (set(), both), "its banks do not fit its method")
    _check_shapes(metadata, tensors)


def _check_shapes(metadata: Mapping[str, Any], tensors: Mapping[str, Shaped]) -> None:
    n, m, v = metadata["gallery"], metadata["bank_size"], metadata["target_bank_size"]
    _agree("bias" in tensors, "it has no bias")
    dim = tensors["query_bank"].shape[-1] if "query_bank" in tensors else 0
    shapes = {
        "bias": (n,),
        "potentials": (m,),
        "query_weight": (m,),
        "digests": (n,),
        "sketches": (n, SKETCHES),
        "ids": tensors["ids"].shape[:1] if "ids" in tensors else (),
        "query_bank": (m, dim),
        "target_bank": (v, dim),
    }
    for name, tensor in tensors.items():
        _agree(name in DTYPES, f"it has a part {name[:40]!r}, which no correction has")
        _agree(tensor.dtype in DTYPES[name], f"its {name} holds {tensor.dtype} values")
        _agree(tensor.shape == shapes[name] and 0 not in tensor.shape, f"its {name} has the wrong shape")
    _agree("sketches" not in tensors or "digests" in tensors, "it has sketches without digests")


def check_values(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray], checksums: Mapping[str, str]) -> None:
    """Raises ValueError, with what is wrong, unless the parts are those that were written and can be computed with."""
    _agree(dict(metadata["checksums"]) == dict(checksums), "a part does not match its checksum")
    for name, tensor in tensors.items():
        _agree(_finite(tensor), f"its {name} is not finite")
    _agree("query_weight" not in tensors or bool((tensors["query_weight"] > 0).all()), "a weight is not positive")
    known = fingerprint(tensors["digests"]) if "digests" in tensors else None
    _agree(metadata["fingerprint"] == known, "its fingerprint does not fit")


def read_ids(tensor: AnyArray | None, count: int) -> tuple[str, ...] | None:
    """The ids that a tensor of bytes holds, one for each target and all different; ValueError if it holds others."""
    if tensor is None:
        return None
    _agree(tensor.size <= ID_BYTES * count, "its ids are too long")
    ids = json.loads(tensor.tobytes())
    names = isinstance(ids, list) and len(ids) == count and all(isinstance(each, str) for each in ids)
    _agree(names and len(set(ids)) == count, "its ids are damaged")
    _agree(_is_unicode(ids), "its ids hold half of a character")
    return tuple(ids)


def _is_unicode(texts: list[str]) -> bool:
    """Whether texts can be written as UTF-8: a lone surrogate, which JSON can hold, cannot."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(tensor: AnyArray) -> bool:
    """Whether every number is one; looked at in pieces, since a bank may be large."""
    if tensor.dtype.kind != "f":
        return True
    flat = tensor.reshape(-1)
    pieces = range(0, flat.size, CHECKED_VALUES)
    return all(bool(np.isfinite(flat[start : start + CHECKED_VALUES]).all()) for start in pieces)


def _agree(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
