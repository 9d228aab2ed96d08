"""A correction file on disk: its header, then each of its parts, once they are known to fit in memory and together.

A file may come from anyone, its checksums too, so every field is checked before it is used.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, get_args

import numpy as np

from unhub.api.verdict import Decision, Reason, judge
from unhub.core.bias import Status
from unhub.core.fingerprint import SKETCHES, fingerprint
from unhub.core.parameters import MOST_STRENGTH
from unhub.core.plan import in_words
from unhub.dataset.evidence import FEWEST_JUDGED, FEWEST_RECENT
from unhub.foundation import field_checks as checked
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import open_regular
from unhub.foundation.types import AnyArray, Similarity
from unhub.io.limits import largest
from unhub.io.safetensors_file import KINDS
from unhub.methods import additive, settings, stored_method
from unhub.methods.strength import Evidence, Source

LONGEST_HEADER = 8 << 20
"""bytes of a header, at most: notes and the places of the parts; real ones have a few kilobytes"""
MOST_AXES = 8
"""of a part; ours have two at the most"""
_DTYPES = {kind: np.dtype(name).newbyteorder("<") for name, kind in KINDS.items()}
MOST_ITEMS = 1 << 40
"""targets, bank queries or rounds, at most"""
LONGEST_TEXT = 10_000
"""characters of a path, a warning, a plan"""
MOST_NOTES = 10_000
"""warnings, or exports"""
ID_BYTES = 4096
"""bytes of an id, on average"""
CHECKED_VALUES = 1 << 20
"""numbers checked at once"""

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
_MOST_NATS = 1e30
"""a gain that no query has; more would fill a sentence with digits"""
ROUNDED = 1e-6
"""by what a number may differ that was written and read"""
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
    "linear": partial(checked.optional_number, least=-_LARGEST, most=_LARGEST),
}
"""every field of the metadata but the verdict; files of earlier versions do not have the last four"""
_SHARE = partial(checked.number, least=0, most=1)
_VERDICT_FIELDS: Mapping[str, Callable[[Mapping[str, Any], str], object]] = {
    "decision": partial(checked.one_of, known=get_args(Decision)),
    "strength": partial(checked.number, least=0, most=MOST_STRENGTH),
    "bank_size": partial(_COUNT, least=0),
    "duplicates": _SHARE,
    "own_log": checked.switch,
    "tau": partial(checked.optional_number, least=1 / _MOST_NATS, most=_LARGEST),
    "reason": partial(checked.one_of, known=get_args(Reason)),
    "evidence": partial(checked.tables, most=len(get_args(Source))),
}
FEWEST_OF: Mapping[str, int] = {"bank": 1, "recent": FEWEST_RECENT, "judged": FEWEST_JUDGED}
"""queries without which there is no evidence of a kind"""
_EVIDENCE_FIELDS: Mapping[str, Callable[[Mapping[str, Any], str], object]] = {
    "source": partial(checked.one_of, known=get_args(Source)),
    "strength": _SHARE,
    "gain": partial(checked.number, least=-_MOST_NATS, most=_MOST_NATS),
    "standard_error": partial(checked.number, least=0, most=_MOST_NATS),
    "queries": partial(_COUNT, least=1),
    "with_all": partial(checked.optional_number, least=0, most=1),
}


@dataclass(frozen=True)
class StoredTensor:
    """What a header says of one part: its type, its shape, and where its bytes are, counted from the file's first."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class OpenArtefact:
    """An open file whose header was read."""

    notes: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]
    _file: BinaryIO

    def read(self) -> dict[str, AnyArray]:
        """Every part, read once; memory is taken for the parts alone."""
        return {name: self._part(each) for name, each in self.tensors.items()}

    def _part(self, stored: StoredTensor) -> AnyArray:
        array = np.empty(stored.shape, dtype=stored.dtype)
        self._file.seek(stored.start)
        if self._file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise ValueError("it became shorter while it was read")
        return array


@contextmanager
def open_artefact(file: Path) -> Iterator[OpenArtefact]:
    """A regular file that fits in free memory; ValueError if its header does not describe it exactly."""
    if not file.exists():
        raise InputError(f"there is no file {file}; write one with unhub fit ... -o {file.name}.")
    try:
        with open_regular(file) as opened:
            size, limit = os.fstat(opened.fileno()).st_size, largest()
            length = _header_length(file, opened.read(9), size)
            if size > limit:
                raise InputError(
                    f"{file} has {size:,} bytes, more than this machine has memory for now ({in_words(limit)} are "
                    f"free); use a larger machine."
                )
            opened.seek(8)
            header = json.loads(opened.read(length))
            if not isinstance(header, dict):
                raise ValueError("its header is no table")
            notes = header.pop("__metadata__", None) or {}
            if not isinstance(notes, dict):
                raise ValueError("its notes are no table")
            yield OpenArtefact(notes, _stored_tensors(header, 8 + length, size), opened)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}.") from error


def _header_length(file: Path, begin: bytes, size: int) -> int:
    """How long the header is, from the first nine bytes: the length, and the header's first sign."""
    if file.suffix != ".unhub" and begin[8:] != b"{":
        raise InputError(f"{file} is not a correction; give a file that unhub fit wrote (it ends in .unhub).")
    header = int.from_bytes(begin[:8], "little")
    if len(begin) < 9 or header > min(LONGEST_HEADER, size - 8):
        reason = f"its header would be {header:,} bytes" if len(begin) == 9 else "it is cut short"
        raise InputError(f"{file} is not a whole correction file ({reason}); fit again.")
    return header


def _stored_tensors(header: Mapping[str, Any], begin: int, size: int) -> dict[str, StoredTensor]:
    """The parts in the order of the file: without gaps, from the header to the end."""
    stored = {name: _stored_tensor(name[:40], each, begin) for name, each in header.items()}
    ordered = dict(sorted(stored.items(), key=lambda each: (each[1].start, each[1].stop)))
    end = begin
    for name, each in ordered.items():
        if each.start != end:
            raise ValueError(f"its {name[:40]} does not begin where the part before it ends")
        end = each.stop
    if end != size:
        raise ValueError(f"its parts end at byte {end:,} of {size:,}")
    return ordered


def _stored_tensor(name: str, entry: Any, begin: int) -> StoredTensor:
    kind, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"its {name} holds values of an unknown type")
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not all(map(_is_count, (*shape, start, stop))):
        raise ValueError(f"its {name} has no shape or no place")
    dtype = _DTYPES[kind]
    if stop - start != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"its {name} has {stop - start:,} bytes, which its shape does not take")
    return StoredTensor(dtype, tuple(shape), begin + start, begin + stop)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 60


def check_header(metadata: Mapping[str, Any], tensors: Mapping[str, StoredTensor]) -> None:
    """Raises ValueError, with what is wrong, unless metadata and shapes describe one correction; no part is read."""
    for name, check in _FIELDS.items():
        check(metadata, name)
    chosen = additive(stored_method(metadata["method"], metadata["settings"]))
    temperatures = {name: value for name, value in settings(chosen).items() if name != "strength"}
    _agree("auto" not in temperatures.values(), "its temperature was never settled")
    _agree(bool(chosen.potentials) == ("potentials" in tensors), "its potentials do not fit its method")
    if metadata["schema_version"] > 1:
        check_verdict(metadata["verdict"])
        tau, own = metadata["verdict"]["tau"], chosen.temperature
        fits = tau is None or own is None or tau <= float(own) * (1 + ROUNDED)
        _agree(fits, "its verdict is of another temperature")
    else:
        _agree(chosen.strength != "auto", "its strength was never settled")
    _agree(
        (metadata["target_bank_size"] > 0) == ("targets" in chosen.requires), "its target bank does not fit its method"
    )
    both = {"query_bank", "target_bank"} if "targets" in chosen.requires else {"query_bank"}
    _agree({"query_bank", "target_bank"} & set(tensors) in (set(), both), "its banks do not fit its method")
    _check_shapes(metadata, tensors, chosen.potentials)


def check_verdict(verdict: Mapping[str, Any]) -> None:
    """Raises ValueError unless a saved verdict could have been given: every field by its type and range."""
    for name, check in _VERDICT_FIELDS.items():
        check(verdict, name)
    strength = verdict["strength"]
    fits = verdict["reason"] == "judged" or verdict["decision"] == "apply"
    _agree(fits, "its verdict does not fit its strength")
    for each in verdict["evidence"]:
        for name, check in _EVIDENCE_FIELDS.items():
            check(each, name)
        _agree(each["queries"] >= FEWEST_OF[each["source"]], "its verdict has evidence of too few queries")
        more = each["with_all"]
        only = more is None or (each["source"] == "recent" and more > each["strength"])
        _agree(only, "its verdict has evidence that does not fit itself")
    sources = [each["source"] for each in verdict["evidence"]]
    _agree(len(set(sources)) == len(sources), "its verdict has two pieces of evidence of one kind")
    if verdict["reason"] == "judged":
        anew = judge(tuple(Evidence(**each) for each in verdict["evidence"]), own_log=verdict["own_log"])
        fits = anew.decision == verdict["decision"] and abs(anew.strength - strength) < ROUNDED
        _agree(fits, "its verdict does not follow from its evidence")


def _check_shapes(metadata: Mapping[str, Any], tensors: Mapping[str, StoredTensor], potentials: int) -> None:
    n, m, v = metadata["gallery"], metadata["bank_size"], metadata["target_bank_size"]
    _agree("bias" in tensors, "it has no bias")
    dim = tensors["query_bank"].shape[-1] if "query_bank" in tensors else 0
    shapes = {
        "bias": (n,),
        "potentials": (m,) if potentials < 2 else (potentials, m),
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
    most = float(np.abs(tensors["bias"]).max()) * (1 + ROUNDED) + ROUNDED
    _agree(abs(metadata.get("linear") or 0.0) <= most, "its linear term is larger than its bias")
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
    """Whether every number is finite; checked in pieces, since a bank may be large."""
    if tensor.dtype.kind != "f":
        return True
    flat = tensor.reshape(-1)
    pieces = range(0, flat.size, CHECKED_VALUES)
    return all(bool(np.isfinite(flat[start : start + CHECKED_VALUES]).all()) for start in pieces)


def _agree(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
