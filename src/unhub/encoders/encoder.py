"""A loaded model, the device it runs on, and the vectors that it makes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import setting

PRECISIONS = ("auto", "float32", "float16")
NOISY_LOGGERS = ("transformers", "sentence_transformers", "open_clip", "huggingface_hub", "httpx", "httpcore", "root")


@dataclass(frozen=True)
class Runtime:
    """A device and a precision, as torch takes them."""

    device: str
    precision: str

    @property
    def dtype(self) -> Any:
        """The number type of torch."""
        return getattr(require("torch", extra="encode"), self.precision)


def choose_runtime(device: str | None, precision: str) -> Runtime:
    """The device asked for, or the best there is; float16 on a GPU and float32 elsewhere, unless one is named."""
    torch = require("torch", extra="encode")
    if precision not in PRECISIONS:
        raise InputError("precision", f"is {precision!r}", f"choose {', '.join(PRECISIONS)}")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except Exception as error:  # an unknown name, or a device that torch was not built for
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")[:200]
        raise InputError("device", f"{device!r} cannot be used here: {reason}", "pass cpu, or leave it out") from error
    if precision == "auto":
        precision = "float32" if device.partition(":")[0] == "cpu" else "float16"
    return Runtime(device, precision)


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which model libraries neither draw bars nor log; errors still come as exceptions."""
    loggers = [logging.getLogger(None if name == "root" else name) for name in NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    bars = [
        (require("transformers.utils.logging", extra="encode"), "is_progress_bar_enabled"),
        (require("huggingface_hub.utils", extra="encode"), "are_progress_bars_disabled"),
    ]
    shown = (bars[0][0].is_progress_bar_enabled(), not bars[1][0].are_progress_bars_disabled())
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        bars[0][0].disable_progress_bar()
        bars[1][0].disable_progress_bars()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if shown[0]:
            bars[0][0].enable_progress_bar()
        if shown[1]:
            bars[1][0].enable_progress_bars()


@contextmanager
def offline(wanted: bool) -> Iterator[None]:
    """A block in which the hub's client looks at what it has only, where the hub is known to be out of reach."""
    constants = require("huggingface_hub.constants", extra="encode")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


BATCH = 32


@dataclass(frozen=True)
class Encoder:
    """A loaded model: how it was loaded, what it reads, and the function that makes rows of a batch.

    how: which output of the model the vector is. revision: which state of the model it was. rate: samples a second
    that it wants of a waveform.
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
        """What a vector depends on, as plain data; two runs that agree in it make the same vectors."""
        names = ("model", "library", "kind", "how", "precision", "max_length", "revision")
        return {name: getattr(self, name) for name in names}


def check_length(model: str, max_length: int | None, most: int | None) -> int | None:
    """The tokens to read of a text: ``max_length`` if the model has room for it, else as many as the model reads."""
    if max_length is not None and most is not None and max_length > most:
        raise InputError("max_length", f"is {max_length}, but model {model!r} reads {most} tokens", "pass that or less")
    return max_length or most


def embed(encoder: Encoder, values: Sequence[Any], *, batch: int = BATCH, unit: bool = True) -> FloatArray:
    """(value, dim) float32: the vector of each text, image, waveform or list of frames.

    encoder: from `load_encoder`.
    values: texts, Pillow images, waveforms at ``encoder.rate``, or lists of frames.
    batch: how many the model gets at once.
    unit: whether rows are scaled to length one. A video's vector is the mean of its frames' vectors, scaled alike.
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
    """What the model makes of one batch; its complaints become sentences."""
    try:
        rows = np.asarray(encoder.vectors(values), dtype=np.float32)
    except (UnhubError, MemoryError):
        raise
    except Exception as error:  # somebody else's code
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        if "out of memory" in reason.lower():
            raise InputError(
                "batch", f"of {len(values)} does not fit on {encoder.device}", "pass a smaller one"
            ) from error
        raise InputError(f"model {encoder.model!r} failed: {type(error).__name__}: {reason}.") from error
    if rows.ndim != 2 or len(rows) != len(values):
        raise InputError(
            f"model {encoder.model!r} made an array of shape {rows.shape} of {len(values)} inputs, not one row each; "
            f"choose another model."
        )
    return rows


def _validate(encoder: Encoder, rows: FloatArray, unit: bool, of: IntArray | None = None) -> FloatArray:
    """Finite rows, of length one where asked; their length is taken in float64. of: the value that each belongs to."""
    length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    invalid = ~np.isfinite(length) | ((length == 0) & unit)
    if invalid.any():
        place = int(np.flatnonzero(invalid)[0])
        raise InvalidVectorError(encoder, place if of is None else int(of[place]))
    return (rows / length).astype(np.float32) if unit else rows


class InvalidVectorError(InputError):
    """A vector with NaN, or of length zero; ``place`` is the value that it was made of."""

    def __init__(self, encoder: Encoder, place: int, name: str | None = None) -> None:
        advice = f"pass {setting('precision', 'float32')}" if encoder.precision == "float16" else "check the model"
        named = f"input {place}" if name is None else repr(name)
        super().__init__(f"model {encoder.model!r} made a vector of NaN or of zeros for {named}; {advice}.")
        self.place = place
