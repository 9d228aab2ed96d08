"""Whether the parts of a correction file fit together: types, ranges, shapes, numbers.

A file may come from anybody, and its checksums are its author's own: every field is looked at before it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from unhub.api.sources import Metric
from unhub.core.bias import Status
from unhub.core.fingerprint import SKETCHES, fingerprint
from unhub.foundation.types import AnyArray
from unhub.methods import additive, method, settings

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


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= MOST_ITEMS


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1e300 and math.isfinite(value)


def _size(value: Any) -> bool:
    """How large an error is: a number that is not negative, or None."""
    return value is None or (_number(value) and value >= 0)


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and "\0" not in value


def _optional_text(value: Any) -> bool:
    return value is None or _text(value)


def _table(value: Any) -> bool:
    """Plain values by name."""
    return isinstance(value, dict) and all(
        _text(name) and (each is None or isinstance(each, bool) or _number(each) or _text(each))
        for name, each in value.items()
    )


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "method": _text,
    "settings": _table,
    "checksums": _table,
    "status": lambda value: value in get_args(Status),
    "iterations": _whole(0),
    "marginal_error": _size,
    "offset": _number,
    "prior_mean": lambda value: _number(value) and value > 0,
    "bank_size": _whole(1),
    "target_bank_size": _whole(0),
    "metric": lambda value: value in get_args(Metric),
    "normalize": lambda value: isinstance(value, bool),
    "gallery": _whole(1),
    "fingerprint": _optional_text,
    "targets_source": _optional_text,
    "warnings": lambda value: isinstance(value, list) and len(value) <= MOST_NOTES and all(map(_text, value)),
}

_LATER: Mapping[str, Callable[[Any], bool]] = {
    "error_bound": _size,
    "plan": _optional_text,
    "exports": lambda value: (
        value is None
        or (isinstance(value, list) and len(value) <= MOST_NOTES and all(isinstance(each, dict) for each in value))
    ),
}
"""what files of earlier versions do not have"""


def check_parts(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray], checksums: Mapping[str, str]) -> None:
    """Raises ValueError, with what is wrong, unless metadata and tensors describe one usable correction."""
    for name, holds in _FIELDS.items():
        _agree(name in metadata and holds(metadata[name]), f"its {name} is missing or not as it should be")
    for name, holds in _LATER.items():
        _agree(holds(metadata.get(name)), f"its {name} is not as it should be")
    _agree(dict(metadata["checksums"]) == dict(checksums), "a part does not match its checksum")
    chosen = additive(method(metadata["method"], metadata["settings"]))
    _agree("auto" not in settings(chosen).values(), "its temperature was never settled")
    _agree((chosen.name in ("sn", "dbsn")) == ("potentials" in tensors), "its potentials do not fit its method")
    _agree((metadata["target_bank_size"] > 0) == ("targets" in chosen.needs), "its target bank does not fit its method")
    both = {"query_bank", "target_bank"} if "targets" in chosen.needs else {"query_bank"}
    _agree({"query_bank", "target_bank"} & set(tensors) in (set(), both), "its banks do not fit its method")
    _check_tensors(metadata, tensors)


def _check_tensors(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray]) -> None:
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
        _agree(_finite(tensor), f"its {name} is not finite")
    _agree("query_weight" not in tensors or bool((tensors["query_weight"] > 0).all()), "a weight is not positive")
    _agree("sketches" not in tensors or "digests" in tensors, "it has sketches without digests")
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
    return tuple(ids)


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
