"""A Correction in one file: safetensors with JSON metadata, written atomically, checked when read, never unpickled."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.artefact_file import open_artefact
from unhub.api.artefact_parts import check_header, check_values, read_ids
from unhub.api.correction import Correction, attach
from unhub.api.unchanged import refuse_others
from unhub.core.fingerprint import row_digests
from unhub.core.parameters import MOST_STRENGTH
from unhub.dataset import Reader
from unhub.executors import memory_bytes
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray
from unhub.io import Rows, replace_file, write_safetensors
from unhub.methods import UnknownMethodError, additive, stored_method
from unhub.stores import is_address
from unhub.stores.address import without_secrets
from unhub.stores.export_plan import Export

SCHEMA_VERSION = 1
_KEY, _SEAL = "unhub", "unhub_sha256"
_WRONG = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""what a file that somebody made up can make us raise"""


def save(correction: Correction, path: str | os.PathLike[str]) -> None:
    """Writes the correction: bias, ids, potentials, bank and fingerprints; a file there before is replaced whole.

    The same correction makes the same bytes, whichever process writes it.
    """
    tensors = _tensors(correction)
    metadata = _metadata(correction)
    metadata["checksums"] = {name: _checksum(tensor) for name, tensor in tensors.items()}
    text = json.dumps(metadata)
    noted = {_KEY: text, _SEAL: hashlib.sha256(text.encode()).hexdigest()}
    with replace_file(path) as temporary:
        write_safetensors(temporary, tensors, noted)


def load(path: str | os.PathLike[str], *, targets: Any = None, memory: str | int | None = None) -> Correction:
    """The correction of a file that ``save`` wrote; every part is checked against its checksum, its type and its range.

    path: the file.
    targets: the gallery it was fitted on, also the address of a store. Without it the file's own note of where the
        gallery was is followed once it is needed, if that is a file on this machine and still holds the same vectors.
        A store that only the file names is never connected to: the file may be somebody else's.
    memory: bounds the blocks of scores, as in ``fit``.

    Returns a Correction.
    """
    memory_bytes(memory)
    if is_address(path):
        raise InputError("this is the address of a store; give the correction file, and the store by itself.")
    file = Path(path).expanduser()
    try:
        with open_artefact(file) as opened:
            metadata = _metadata_of(file, opened.notes)
            try:
                check_header(metadata, opened.tensors)
                tensors = opened.read()
                check_values(metadata, tensors, {name: _checksum(tensor) for name, tensor in tensors.items()})
                correction = _correction(metadata, tensors, memory)
            except UnknownMethodError as error:
                raise InputError(
                    f"{file} was fitted with the method {metadata['method']!r}, which is not here; install the package "
                    f"that offers it, or pass its class to unhub.register_method before loading, or fit again."
                ) from error
            except _WRONG as error:
                raise InputError(
                    f"{file} is damaged or was not written by unhub ({_reason(error)}); fit again."
                ) from error
    except InputError:
        raise
    except _WRONG as error:
        raise InputError(f"{file} is not a whole correction file ({_reason(error)}); fit again.") from error
    return correction if targets is None else attach(correction, targets)


def _tensors(correction: Correction) -> dict[str, AnyArray]:
    ids = None if correction.ids is None else json.dumps(correction.ids).encode()
    parts = {
        "bias": correction.bias,
        "potentials": correction._potentials,
        "query_weight": correction._query_weight,
        "digests": correction._digests,
        "sketches": correction._sketches,
        "ids": None if ids is None else np.frombuffer(ids, dtype=np.uint8),
        "query_bank": _stored(correction.query_bank, correction._bank_fingerprints),
        "target_bank": _stored(correction.target_bank, correction._bank_fingerprints),
    }
    return {name: np.ascontiguousarray(part) for name, part in parts.items() if part is not None}


def _stored(rows: Rows | None, known: Mapping[str, str]) -> AnyArray | None:
    """Bank vectors in the precision they came in, if that is one of ours; an error unless the fit was made of them."""
    if rows is None:
        return None
    block = np.asarray(rows[0 : rows.shape[0]])
    refuse_others(known, rows, row_digests(block), when="since")
    return block if block.dtype in (np.float16, np.float32, np.int8) else block.astype(np.float32)


def _metadata(correction: Correction) -> dict[str, Any]:
    reader = correction._reader
    return {
        "schema_version": SCHEMA_VERSION,
        "unhub_version": VERSION,
        "method": correction.method.name,
        "settings": correction.settings,
        "status": correction.status,
        "iterations": correction.iterations,
        "marginal_error": correction.marginal_error,
        "error_bound": correction.error_bound,
        "plan": correction.plan,
        "offset": correction._offset,
        "prior_mean": correction._prior_mean,
        "bank_size": correction.bank_size,
        "target_bank_size": correction.target_bank_size,
        "metric": reader.metric,
        "normalize": reader.normalize,
        "gallery": int(correction.bias.size),
        "fingerprint": correction.fingerprint,
        "targets_source": correction.source if correction.targets is None else correction.targets.source,
        "warnings": list(correction.warnings),
        "exports": [each.to_dict() for each in correction.exports],
    }


def _metadata_of(file: Path, noted: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata, its version known and its text unchanged since it was written."""
    if _KEY not in noted:
        raise InputError(f"{file} is a safetensors file but not a correction; give a file that unhub fit wrote.")
    try:
        metadata = json.loads(noted[_KEY])
        version = metadata["schema_version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file} is not a whole correction file ({_reason(error)}); fit again.") from error
    if type(version) is not int or version != SCHEMA_VERSION:
        raise InputError(
            f"{file} has schema version {version}, this unhub reads {SCHEMA_VERSION}; update unhub or fit again."
        )
    if noted.get(_SEAL) != hashlib.sha256(noted[_KEY].encode()).hexdigest():
        raise InputError(f"{file} is damaged: its metadata does not match its checksum; fit again.")
    _refuse_too_strong(file, metadata.get("settings"))
    return dict(metadata)


def _refuse_too_strong(file: Path, settings: Any) -> None:
    """Release 0.1.0 took any strength."""
    strength = settings.get("strength") if isinstance(settings, dict) else None
    if isinstance(strength, int | float) and MOST_STRENGTH < strength < math.inf:
        raise InputError(f"{file} has strength {strength:g}; unhub takes 0 to {MOST_STRENGTH:g} now; fit again.")


def _reason(error: Exception) -> str:
    text = str(error).splitlines()[0].rstrip(".") if str(error) else ""
    return f"no {text}" if isinstance(error, KeyError) else text or type(error).__name__


def _correction(metadata: Mapping[str, Any], tensors: Mapping[str, AnyArray], memory: str | int | None) -> Correction:
    source = metadata["targets_source"]
    exports = [Export.from_dict(each) for each in metadata.get("exports") or ()]
    estimator = additive(stored_method(metadata["method"], metadata["settings"]))
    return Correction(
        method=estimator,
        bias=tensors["bias"],
        status=metadata["status"],
        iterations=metadata["iterations"],
        marginal_error=metadata["marginal_error"],
        error_bound=metadata.get("error_bound"),
        plan=metadata.get("plan"),
        _offset=metadata["offset"],
        _reader=Reader(metadata["metric"], metadata["normalize"], memory, fitted=True),
        _potentials=tensors.get("potentials"),
        bank_size=metadata["bank_size"],
        target_bank_size=metadata["target_bank_size"],
        _query_weight=tensors.get("query_weight"),
        _prior_mean=metadata["prior_mean"],
        ids=read_ids(tensors.get("ids"), metadata["gallery"]),
        _digests=tensors.get("digests"),
        _sketches=tensors.get("sketches"),
        query_bank=_rows(tensors.get("query_bank"), "query_bank"),
        target_bank=_rows(tensors.get("target_bank"), "target_bank"),
        source=without_secrets(source) if is_address(source) else source,
        notes=tuple(metadata["warnings"]),
        exports=tuple(replace(each, origin=without_secrets(each.origin)) for each in exports),
    )


def _rows(block: AnyArray | None, name: str) -> Rows | None:
    return None if block is None else Rows(block, name=name)


def _checksum(tensor: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest()
