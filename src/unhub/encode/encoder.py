"""A loaded model, and the vectors that it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.types import AnyArray, FloatArray, IntArray

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


def embed(encoder: Encoder, values: Sequence[Any], *, batch: int = BATCH, unit: bool = True) -> FloatArray:
    """(value, dim) float32: the vector of each text, image, waveform or list of frames, of length one if ``unit``.

    A video's vector is the mean of its frames' vectors, which are brought to length one first where the result is.
    """
    if isinstance(values, str):
        raise InputError(f"values is the single string {values!r}; pass a list.")
    if not len(values):
        raise InputError("there is nothing to encode; pass at least one value.")
    if encoder.kind != "video":
        return _checked(encoder, _batches(encoder, values, batch), unit)
    counts = [len(frames) for frames in values]
    ends = np.cumsum(counts)
    made = _batches(encoder, [frame for frames in values for frame in frames], batch)
    rows = _checked(encoder, made, unit, of=np.repeat(np.arange(len(counts)), counts))
    means = [rows[end - count : end].mean(axis=0) for end, count in zip(ends, counts, strict=True)]
    return _checked(encoder, np.array(means, dtype=np.float32), unit)


def _batches(encoder: Encoder, values: Sequence[Any], batch: int) -> FloatArray:
    return np.concatenate([_rows(encoder, list(values[at : at + batch])) for at in range(0, len(values), batch)])


def _rows(encoder: Encoder, values: list[Any]) -> FloatArray:
    """What the model makes of one batch; its complaints become sentences."""
    try:
        made = np.asarray(encoder.vectors(values), dtype=np.float32)
    except (UnhubError, MemoryError):
        raise
    except Exception as error:  # somebody else's code
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        if "out of memory" in reason.lower():
            raise InputError(
                f"a batch of {len(values)} does not fit on {encoder.device}; pass a smaller batch (--batch)."
            ) from error
        raise InputError(f"model {encoder.model!r} failed: {type(error).__name__}: {reason}.") from error
    if made.ndim != 2 or len(made) != len(values):
        raise InputError(
            f"model {encoder.model!r} made an array of shape {made.shape} of {len(values)} inputs; one row each is "
            f"wanted, so this kind of model cannot be used."
        )
    return made


def _checked(encoder: Encoder, rows: FloatArray, unit: bool, of: IntArray | None = None) -> FloatArray:
    """Finite rows, of length one where asked; their length is taken in float64. of: the value that each belongs to."""
    length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    useless = ~np.isfinite(length) | ((length == 0) & unit)
    if useless.any():
        place = int(np.flatnonzero(useless)[0])
        raise UselessVectorError(encoder, place if of is None else int(of[place]))
    return (rows / length).astype(np.float32) if unit else rows


class UselessVectorError(InputError):
    """A vector with NaN, or of length zero; ``place`` is the value that it was made of."""

    def __init__(self, encoder: Encoder, place: int, name: str | None = None) -> None:
        advice = "pass precision float32 (--precision float32)" if encoder.precision == "float16" else "check the model"
        named = f"input {place}" if name is None else repr(name)
        super().__init__(f"model {encoder.model!r} made a vector of NaN or of zeros for {named}; {advice}.")
        self.place = place
