"""A loaded model, the device it runs on, and the vectors that it makes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.facade import facade
from unhub.foundation.optional import require
from unhub.foundation.safe_text import reason_of
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import setting

BATCH = 32
PRECISIONS = ("auto", "float32", "float16")
NOISY_LOGGERS = ("transformers", "sentence_transformers", "open_clip", "huggingface_hub", "httpx", "httpcore", None)
"""loggers of model libraries, and the root logger (None), which some of them use"""


class Runtime(NamedTuple):
    """A device and a precision, as torch takes them."""

    device: str
    precision: str

    @property
    def dtype(self) -> Any:
        """The number type of torch."""
        return getattr(require("torch", extra="encode"), self.precision)


def choose_runtime(device: str | None, precision: str) -> Runtime:
    """The named device, or the best available; float16 on a GPU and float32 elsewhere, unless one is named."""
    torch = require("torch", extra="encode")
    if precision not in PRECISIONS:
        raise InputError("precision", f"is {precision!r}", f"choose {', '.join(PRECISIONS)}")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except Exception as error:  # an unknown name, or a device that torch was not built for
        reason = reason_of(error).partition(". ")[0]
        raise InputError("device", f"{device!r} cannot be used here: {reason}", "pass cpu, or leave it out") from error
    if precision == "auto":
        precision = "float32" if device.partition(":")[0] == "cpu" else "float16"
    return Runtime(device, precision)


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which model libraries draw no progress bars and log nothing; errors are still raised."""
    loggers = [logging.getLogger(name) for name in NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    transformers = require("transformers.utils.logging", extra="encode")
    hub = require("huggingface_hub.utils", extra="encode")
    bars = transformers.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        transformers.disable_progress_bar()
        hub.disable_progress_bars()
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars[0]:
            transformers.enable_progress_bar()
        if bars[1]:
            hub.enable_progress_bars()


class LoadedModel(NamedTuple):
    """How a library's model is called: see the fields of `Encoder`."""

    how: str
    vectors: Callable[[list[Any]], AnyArray]
    max_length: int | None = None
    rate: int | None = None


@dataclass(frozen=True)
class Encoder:
    """A loaded model: how it was loaded, what it reads, and the function that makes rows of a batch.

    how: which output of the model is the vector. revision: which state of the model was loaded. rate: samples per
    second of the waveforms that it takes.
    """

    model: str
    library: str
    kind: str
    how: str
    device: str
    precision: str
    vectors: Callable[[list[Any]], AnyArray] = field(repr=False)
    rate: int | None = None
    max_length: int | None = None
    revision: str = ""

    def settings(self) -> dict[str, Any]:
        """What a vector depends on, as plain data; two runs with the same settings make the same vectors."""
        names = ("model", "library", "kind", "how", "precision", "max_length", "revision")
        return {name: getattr(self, name) for name in names}


@facade
def embed(encoder: Encoder, values: Sequence[Any], *, batch: int = BATCH, unit: bool = True) -> FloatArray:
    """(value, dim) float32: the vector of each text, image, waveform or list of frames.

    encoder: from `load_encoder`.
    values: texts, Pillow images, waveforms at ``encoder.rate``, or lists of frames.
    batch: how many the model gets at once; 32 by default.
    unit: whether rows are scaled to length one; True by default. A video's vector is the mean of its frames' vectors,
        scaled alike.

    Returns one row for each value, in order.
    """
    if isinstance(values, str):
        raise InputError("values", f"is the single string {values!r}", "pass a list")
    if not len(values):
        raise InputError("values", "is empty", "pass at least one value")
    if encoder.kind != "video":
        return _validate(encoder, _batches(encoder, values, batch), unit)
    counts = [len(frames) for frames in values]
    ends = np.cumsum(counts)
    rows = _batches(encoder, [frame for frames in values for frame in frames], batch)
    rows = _validate(encoder, rows, unit, of=np.repeat(np.arange(len(counts)), counts))
    means = [rows[end - count : end].mean(axis=0) for end, count in zip(ends, counts, strict=True)]
    return _validate(encoder, np.array(means, dtype=np.float32), unit)


def _batches(encoder: Encoder, values: Sequence[Any], batch: int) -> FloatArray:
    return np.concatenate([_rows(encoder, list(values[at : at + batch])) for at in range(0, len(values), batch)])


def _rows(encoder: Encoder, values: list[Any]) -> FloatArray:
    try:
        return call_model(encoder.vectors, values, f"model {encoder.model!r}")
    except InputError as error:
        if "out of memory" not in str(error).lower():
            raise
        raise InputError("batch", f"of {len(values)} does not fit on {encoder.device}", "pass a smaller one") from error


def call_model(function: Callable[[list[Any]], Any], values: list[Any], subject: str) -> FloatArray:
    """(value, dim) float32: what third-party code makes of the values; its failures become sentences."""
    try:
        rows = np.asarray(function(values), dtype=np.float32)
    except (UnhubError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{subject} failed: {type(error).__name__}: {reason_of(error)}.") from error
    if rows.ndim != 2 or len(rows) != len(values):
        raise InputError(
            f"{subject} returned an array of shape {rows.shape} for {len(values)} inputs; it must return one row for "
            "each: choose another."
        )
    return rows


def _validate(encoder: Encoder, rows: FloatArray, unit: bool, of: IntArray | None = None) -> FloatArray:
    """Finite rows, of length one if ``unit``; lengths are computed in float64. of: the value of each row."""
    length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    invalid = ~np.isfinite(length) | ((length == 0) & unit)
    if invalid.any():
        place = int(np.flatnonzero(invalid)[0])
        raise InvalidVectorError(encoder, place if of is None else int(of[place]))
    return (rows / length).astype(np.float32) if unit else rows


class InvalidVectorError(InputError):
    """A vector with NaN, or of length zero; ``place`` is the position of its value."""

    def __init__(self, encoder: Encoder, place: int, name: str | None = None) -> None:
        advice = f"pass {setting('precision', 'float32')}" if encoder.precision == "float16" else "check the model"
        named = f"input {place}" if name is None else repr(name)
        super().__init__(f"model {encoder.model!r} made a vector of NaN or of zeros for {named}; {advice}.")
        self.place = place
