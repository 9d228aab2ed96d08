"""Vectors in memory, and what is said when a model gives none that can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.encoders import Encoder, embed, encode, load_encoder
from unhub.encoders.encoder import choose_runtime
from unhub.foundation import file_lock
from unhub.foundation.errors import InputError, UnhubWarning


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
    with pytest.raises(InputError, match=r"shape \(2, 3, 4\) for 2 inputs; it must return one row for each"):
        embed(made_by(lambda batch: np.ones((2, 3, 4))), ["a", "b"])
    with pytest.raises(InputError, match="single string 'a'"):
        embed(made_by(len), "a")
    with pytest.raises(InputError, match="values is empty; pass at least one"):
        embed(made_by(len), [])


def test_half_precision_is_for_a_gpu() -> None:
    assert choose_runtime("cpu", "auto").precision == "float32"
    assert choose_runtime("meta", "auto").precision == "float16"  # any device but the CPU
    assert choose_runtime("meta", "float32").precision == "float32"


def test_a_mistyped_argument_is_answered_with_the_right_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"encode has no argument modle; did you mean model\?"):
        encode("photos", modle="clip", output=tmp_path / "x.npy")  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"load_encoder has no argument max_lenght; did you mean max_length\?"):
        load_encoder("clip", "text", max_lenght=8)  # type: ignore[call-arg]


def test_a_system_without_locks_is_a_note_on_the_result(
    tmp_path: Path, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts.txt").write_text("a dog\na cat\n")
    monkeypatch.setattr(file_lock, "fcntl", None)
    with pytest.warns(UnhubWarning, match="has no file locks; make sure that no two") as warned:
        written = encode(tmp_path / "texts.txt", model=str(clip), output=tmp_path / "x.npy", device="cpu")
    assert written.notes == (file_lock.NO_LOCKS,)
    assert [each.filename for each in warned] == [__file__]
