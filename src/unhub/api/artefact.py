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

from unhub.api.artefact_file import check_header, check_values, open_artefact, read_ids
from unhub.api.correction import Correction, attach
from unhub.api.fitted_vectors import refuse_others
from unhub.api.verdict import Verdict, given_verdict
from unhub.core.fingerprint import row_digests
from unhub.core.parameters import MOST_STRENGTH
from unhub.dataset import Reader
from unhub.executors import memory_bytes
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.facade import facade
from unhub.foundation.types import AnyArray
from unhub.io import Rows, replace_file, write_safetensors
from unhub.methods import AdditiveMethod, UnknownMethodError, additive, stored_method
from unhub.stores import is_address
from unhub.stores.address import without_secrets
from unhub.stores.export_plan import Export

SCHEMA_VERSION = 2
OLDEST = 1
"""the version of release 0.1.0, whose bias had its strength in it and no verdict"""
_KEY, _SEAL = "unhub", "unhub_sha256"
_WRONG = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""what a forged file can make us raise"""
_AS_THEY_ARE = (
    "status", "iterations", "marginal_error", "error_bound", "plan", "bank_size", "target_bank_size",
)  # fmt: skip
"""fields of a Correction that the metadata holds under the same name"""


def save(correction: Correction, path: str | os.PathLike[str]) -> None:
    """Writes the correction: bias, ids, potentials, bank and fingerprints; an existing file is replaced as a whole.

    The same correction gives the same bytes in every process.
    """
    tensors = _tensors(correction)
    metadata = _metadata(correction)
    metadata["checksums"] = {name: _checksum(tensor) for name, tensor in tensors.items()}
    text = json.dumps(metadata)
    notes = {_KEY: text, _SEAL: hashlib.sha256(text.encode()).hexdigest()}
    with replace_file(path) as temporary:
        write_safetensors(temporary, tensors, notes)


@facade
def load(path: str | os.PathLike[str], *, targets: Any = None, memory: str | int | None = None) -> Correction:
    """The correction of a file that ``save`` wrote; every part is checked against its checksum, its type and its range.

    path: the file.
    targets: the gallery it was fitted on, also the address of a store. Without it the gallery is opened, when it is
        needed, at the path noted in the file, if it still holds the same vectors. A store that only the file names is
        never connected to, since files can be forged.
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


def loaded(correction: Correction | str | os.PathLike[str], memory: str | int | None = None) -> Correction:
    """A correction as it is, or that of a file."""
    if isinstance(correction, Correction):
        return correction
    if not isinstance(correction, str | os.PathLike):
        came = f"is of type {type(correction).__name__}"
        raise InputError("correction", came, "give what unhub.fit returns, or the path of its file")
    return load(correction, memory=memory)


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
    """Bank vectors in the precision they came in, if files hold it; an error if they have changed since the fit."""
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
        **{name: getattr(correction, name) for name in _AS_THEY_ARE},
        "offset": correction._offset,
        "prior_mean": correction._prior_mean,
        "linear": correction._linear,
        "verdict": correction.verdict.to_dict(),
        "metric": reader.metric,
        "normalize": reader.normalize,
        "gallery": int(correction.bias.size),
        "fingerprint": correction.fingerprint,
        "targets_source": correction.source if correction.targets is None else correction.targets.source,
        "warnings": list(correction.warnings),
        "exports": [each.to_dict() for each in correction.exports],
    }


def _metadata_of(file: Path, notes: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata, its version known and its text unchanged since it was written."""
    if _KEY not in notes:
        raise InputError(f"{file} is a safetensors file but not a correction; give a file that unhub fit wrote.")
    try:
        metadata = json.loads(notes[_KEY])
        version = metadata["schema_version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file} is not a whole correction file ({_reason(error)}); fit again.") from error
    if type(version) is not int or not OLDEST <= version <= SCHEMA_VERSION:
        raise InputError(
            f"{file} has schema version {version}, this unhub reads {OLDEST} to {SCHEMA_VERSION}; update unhub or fit "
            f"again."
        )
    if notes.get(_SEAL) != hashlib.sha256(notes[_KEY].encode()).hexdigest():
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
    fields: Any = {name: metadata.get(name) for name in _AS_THEY_ARE}
    bias, verdict = tensors["bias"], _verdict(metadata, estimator)
    if metadata["schema_version"] == OLDEST and verdict.strength not in (0, 1):
        bias = (bias / verdict.strength).astype(np.float32)
    return Correction(
        method=estimator,
        bias=bias,
        verdict=verdict,
        **fields,
        _linear=float(metadata.get("linear", 0.0)),
        _offset=metadata["offset"],
        _reader=Reader(metadata["metric"], metadata["normalize"], memory, fitted=True),
        _potentials=tensors.get("potentials"),
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


def _verdict(metadata: Mapping[str, Any], estimator: AdditiveMethod) -> Verdict:
    """The saved verdict; of release 0.1.0 a strength that was given."""
    if metadata["schema_version"] == OLDEST:
        return given_verdict(float(estimator.strength))
    return Verdict.from_dict(metadata["verdict"])


def _rows(block: AnyArray | None, name: str) -> Rows | None:
    return None if block is None else Rows(block, name=name)


def _checksum(tensor: AnyArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest()
