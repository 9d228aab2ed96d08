"""Whether the parts of a correction file fit together: types, shapes, numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from unhub.core.bias import Status
from unhub.core.fingerprint import SKETCHES, fingerprint
from unhub.foundation.types import AnyArray
from unhub.methods import additive, method, settings

_TYPES: Mapping[str, tuple[type, ...]] = {
    "method": (str,),
    "settings": (dict,),
    "checksums": (dict,),
    "status": (str,),
    "iterations": (int,),
    "marginal_error": (float, int, type(None)),
    "offset": (float, int),
    "prior_mean": (float, int),
    "bank_size": (int,),
    "target_bank_size": (int,),
    "metric": (str,),
    "normalize": (bool,),
    "gallery": (int,),
    "fingerprint": (str, type(None)),
    "targets_source": (str, type(None)),
    "warnings": (list,),
}


_LATER: Mapping[str, tuple[type, ...]] = {
    "error_bound": (float, int, type(None)),
    "plan": (str, type(None)),
    "exports": (list, type(None)),
}
"""what files of earlier versions do not have"""


def check_parts(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray], checksums: Mapping[str, str]) -> None:
    """Raises ValueError, with what is wrong, unless metadata and tensors describe one usable correction."""
    for name, kinds in _TYPES.items():
        _agree(name in metadata and isinstance(metadata[name], kinds), f"its {name} is missing or of the wrong kind")
    for name, kinds in _LATER.items():
        _agree(isinstance(metadata.get(name), kinds), f"its {name} is of the wrong kind")
    _agree(dict(metadata["checksums"]) == dict(checksums), "a part does not match its checksum")
    _agree(metadata["status"] in get_args(Status), "its status is unknown")
    _agree(np.isfinite([metadata["offset"], metadata["prior_mean"]]).all(), "a number in it is not finite")
    _agree(metadata["prior_mean"] > 0, "its prior_mean is not positive")
    chosen = additive(method(metadata["method"], metadata["settings"]))
    _agree("auto" not in settings(chosen).values(), "its temperature was never settled")
    _agree((chosen.name in ("sn", "dbsn")) == ("potentials" in tensors), "its potentials do not fit its method")
    _check_shapes(metadata, tensors)


def _check_shapes(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray]) -> None:
    n, m, v = metadata["gallery"], metadata["bank_size"], metadata["target_bank_size"]
    bias = tensors["bias"]
    _agree(bias.shape == (n,) and bias.dtype == np.float32 and bool(np.isfinite(bias).all()), "its bias is damaged")
    for name, shape in (
        ("potentials", (m,)),
        ("query_weight", (m,)),
        ("digests", (n,)),
        ("sketches", (n, SKETCHES)),
    ):
        _agree(name not in tensors or tensors[name].shape == shape, f"its {name} has the wrong shape")
    for name, rows in (("query_bank", m), ("target_bank", v)):
        found = tensors.get(name)
        _agree(found is None or (found.ndim == 2 and found.shape[0] == rows), f"its {name} has the wrong shape")
    for name in ("potentials", "query_weight"):
        _agree(name not in tensors or bool(np.isfinite(tensors[name]).all()), f"its {name} is not finite")
    if "digests" in tensors:
        _agree(metadata["fingerprint"] == fingerprint(tensors["digests"]), "its fingerprint does not fit")
    if "ids" in tensors:
        ids = json.loads(tensors["ids"].tobytes())
        names = isinstance(ids, list) and all(isinstance(each, str) for each in ids)
        _agree(names and len(ids) == n, "its ids are damaged")


def _agree(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
