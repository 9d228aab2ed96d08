"""The numbers that an independent float64 implementation measured on real sets, beside the project."""

from pathlib import Path

import numpy as np
import pytest

from unhub.metrics import Relevance, rank, summarise

DATA = Path(__file__).parents[3] / "shared" / "data"


def load(name):
    if not (DATA / name).exists():
        pytest.skip(f"real data not found: {DATA / name}")
    return np.load(DATA / name)


def test_msrvtt_text_to_video_as_published():
    scores = load("msrvtt_1ka/msrvtt_video_matrix.npy")
    found = summarise(rank(scores, Relevance.from_index(range(1000), gallery=1000)))
    assert [found[name] for name in ("R@1", "R@5", "R@10")] == pytest.approx([48.0, 73.0, 82.9])
    assert found["MnR"] == pytest.approx(13.1, abs=0.05)
    assert found["skew@10"] == pytest.approx(0.72, abs=0.01)


@pytest.mark.parametrize(("ties", "published"), [("optimistic", [46.0, 74.1, 82.8]), ("average", [45.6, 74.1, 82.7])])
def test_msrvtt_video_to_text_depends_on_the_ties(ties, published):
    """Nine captions score exactly as the caption of another video does. Published code counts such ties as hits."""
    scores = load("msrvtt_1ka/msrvtt_video_matrix.npy").T
    ranking = rank(scores, Relevance.from_index(range(1000), gallery=1000).reverse(), ties=ties)
    assert list(summarise(ranking, ["R@1", "R@5", "R@10"]).values()) == pytest.approx(published)
    assert np.count_nonzero(ranking.shared > 1) == 9


def test_coco500_text_to_image():
    images, captions = load("coco500/features_clip.npy").astype(np.float64)
    images, captions = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (images, captions))
    found = summarise(rank(captions @ images.T, Relevance.from_index(range(500), gallery=500)))
    assert [found[name] for name in ("R@1", "R@5", "R@10")] == pytest.approx([50.6, 76.6, 86.2])


def test_flickr8k_with_five_captions_per_image():
    arrays = load("flickr8k/flickr8k_dual.npz")
    texts, images = (arrays[name].astype(np.float32) for name in ("test_text", "test_image"))
    texts, images = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (texts, images))
    relevance = Relevance.from_index(arrays["test_text_target"], gallery=1000)
    assert summarise(rank(texts @ images.T, relevance), ["R@1"])["R@1"] == pytest.approx(21.0, abs=0.05)

    back = relevance.reverse()
    assert (back.counts == 5).all()
    ranking = rank(images @ texts.T, back)
    scores = (images @ texts.T).astype(np.float64)
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = [bool(set(order[i, :5]) & set(np.flatnonzero(arrays["test_text_target"] == i))) for i in range(1000)]
    assert summarise(ranking, ["R@5"])["R@5"] == pytest.approx(100 * np.mean(hits), abs=0.2)  # a tie may differ

    groups = back.groups()
    grouped = rank(images @ texts.T, back.grouped(groups), groups=groups)
    assert summarise(grouped, ["R@1"])["R@1"] == pytest.approx(summarise(ranking, ["R@1"])["R@1"], abs=0.2)
