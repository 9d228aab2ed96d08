"""A Correction in one file: safetensors with JSON metadata, written atomically, checked when read, never unpickled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.correction import Correction, attach
from unhub.api.sources import Reader
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io import Rows, replace_file
from unhub.methods import AdditiveMethod, method

SCHEMA_VERSION = 1
_KEY = "unhub"


def save(correction: Correction, path: str | os.PathLike[str]) -> None:
    """Writes the correction: bias, ids, potentials, bank and fingerprints; a file there before is replaced whole."""
    from safetensors.numpy import save_file

    tensors = _tensors(correction)
    checksums = {name: _checksum(tensor) for name, tensor in tensors.items()}
    metadata = _metadata(correction) | {"checksums": checksums}
    with replace_file(path) as temporary:
        save_file(tensors, temporary, metadata={_KEY: json.dumps(metadata)})


def load(path: str | os.PathLike[str], *, targets: Any = None, memory: str | int | None = None) -> Correction:
    """The correction of a file that ``save`` wrote; its parts are checked against their checksums.

    targets: the gallery it was fitted on. Without it the file's own note of where the gallery was is followed once it
    is needed, if that still holds the same vectors. memory bounds the blocks of scores, as in ``fit``.
    """
    file = Path(path)
    metadata, tensors = _read(file)
    for name, expected in metadata["checksums"].items():
        if name not in tensors or _checksum(tensors[name]) != expected:
            raise InputError(f"{file} is damaged: its part {name!r} does not match its checksum; fit again.")
    correction = _correction(metadata, tensors, memory)
    return correction if targets is None else attach(correction, targets)


def _tensors(correction: Correction) -> dict[str, AnyArray]:
    ids = None if correction.ids is None else json.dumps(correction.ids).encode()
    parts = {
        "bias": correction.bias,
        "potentials": correction.potentials,
        "query_weight": correction.query_weight,
        "digests": correction.digests,
        "ids": None if ids is None else np.frombuffer(ids, dtype=np.uint8),
        "query_bank": _stored(correction.query_bank),
        "target_bank": _stored(correction.target_bank),
    }
    return {name: np.ascontiguousarray(part) for name, part in parts.items() if part is not None}


def _stored(rows: Rows | None) -> AnyArray | None:
    """Bank vectors in the precision they came in, if that is one of ours."""
    if rows is None:
        return None
    block = np.asarray(rows[0 : rows.shape[0]])
    return block if block.dtype in (np.float16, np.float32, np.int8) else block.astype(np.float32)


def _metadata(correction: Correction) -> dict[str, Any]:
    import unhub

    reader = correction.reader
    return {
        "schema_version": SCHEMA_VERSION,
        "unhub_version": unhub.__version__,
        "method": correction.method.name,
        "settings": correction.settings,
        "status": correction.status,
        "iterations": correction.iterations,
        "marginal_error": correction.marginal_error,
        "offset": correction.offset,
        "prior_mean": correction.prior_mean,
        "metric": reader.metric,
        "normalize": reader.normalize,
        "gallery": int(correction.bias.size),
        "fingerprint": correction.fingerprint,
        "targets_source": correction.source if correction.targets is None else correction.targets.source,
        "warnings": list(correction.warnings),
    }


def _read(file: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    from safetensors import SafetensorError, safe_open

    if not file.is_file():
        raise InputError(f"there is no file {file}; write one with unhub fit ... -o {file.name}.")
    try:
        with safe_open(file, framework="numpy") as opened:
            found = (opened.metadata() or {}).get(_KEY)
            tensors = {} if found is None else {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            metadata = None if found is None else json.loads(found)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{file} is not a whole correction file ({error}); fit again.") from error
    if metadata is None:
        raise InputError(f"{file} is a safetensors file but not a correction; give a file that unhub fit wrote.")
    if metadata.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{file} has schema version {metadata.get('schema_version')}, this unhub reads {SCHEMA_VERSION}; "
            f"update unhub or fit again."
        )
    return metadata, tensors


def _correction(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray], memory: str | int | None) -> Correction:
    ids = tensors.get("ids")
    estimator = method(metadata["method"], metadata["settings"])
    assert isinstance(estimator, AdditiveMethod)
    return Correction(
        method=estimator,
        bias=tensors["bias"],
        status=metadata["status"],
        iterations=metadata["iterations"],
        marginal_error=metadata["marginal_error"],
        offset=metadata["offset"],
        reader=Reader(metadata["metric"], metadata["normalize"], memory),
        potentials=tensors.get("potentials"),
        query_weight=tensors.get("query_weight"),
        prior_mean=metadata["prior_mean"],
        ids=None if ids is None else tuple(json.loads(ids.tobytes())),
        digests=tensors.get("digests"),
        query_bank=_rows(tensors.get("query_bank"), "query_bank"),
        target_bank=_rows(tensors.get("target_bank"), "target_bank"),
        source=metadata["targets_source"],
        warnings=tuple(metadata["warnings"]),
    )


def _rows(block: AnyArray | None, name: str) -> Rows | None:
    return None if block is None else Rows(block, name=name)


def _checksum(tensor: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).tobytes()).hexdigest()
