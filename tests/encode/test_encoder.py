"""Vectors in memory, and what is said when a model gives none that can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.encoders import Encoder, embed, load_encoder
from unhub.encoders.encoder import choose_runtime
from unhub.foundation.errors import InputError


def made_by(function: Any, kind: str = "text", precision: str = "float32") -> Encoder:
    return Encoder("toy", "transformers", kind, "toy", "cpu", precision, function)


def test_texts_in_memory(clip: Path) -> None:
    encoder = load_encoder(str(clip), "text", device="cpu")
    rows = embed(encoder, ["a red dog", "a cat"])
    assert rows.shape == (2, 12)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_rows_without_direction() -> None:
    zeros = made_by(lambda batch: np.array([[1.0, 2.0]] * (len(batch) - 1) + [[0.0, 0.0]]))
    with pytest.raises(InputError, match="vector of NaN or of zeros for input 2; check the model"):
        embed(zeros, ["a", "b", "c"])
    assert embed(zeros, ["a", "b"], unit=False).shape == (2, 2)
    half = made_by(lambda batch: np.full((len(batch), 2), np.nan), precision="float16")
    with pytest.raises(InputError, match="pass precision='float32'"):
        embed(half, ["a"])


def test_the_film_of_a_useless_frame_is_named() -> None:
    films = made_by(lambda batch: np.array([[each, 0.0] for each in batch]), "video")
    with pytest.raises(InputError, match="for input 1;"):
        embed(films, [[1.0, 2.0, 3.0], [1.0, 0.0]])


def test_a_model_that_fails() -> None:
    def fail(batch: list[Any]) -> Any:
        raise RuntimeError("CUDA out of memory. Tried to allocate much")

    with pytest.raises(InputError, match=r"batch of 2 does not fit on cpu; pass a smaller one"):
        embed(made_by(fail), ["a", "b"])
    with pytest.raises(InputError, match=r"shape \(2, 3, 4\) of 2 inputs, not one row each"):
        embed(made_by(lambda batch: np.ones((2, 3, 4))), ["a", "b"])
    with pytest.raises(InputError, match="single string 'a'"):
        embed(made_by(len), "a")
    with pytest.raises(InputError, match="values is empty; pass at least one"):
        embed(made_by(len), [])


def test_half_precision_is_for_a_gpu() -> None:
    assert choose_runtime("cpu", "auto").precision == "float32"
    assert choose_runtime("meta", "auto").precision == "float16"  # any device but the CPU
    assert choose_runtime("meta", "float32").precision == "float32"
