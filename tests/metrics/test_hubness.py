"""k-occurrence and what is read off it: zeros always included."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from unhub.foundation.errors import InputError
from unhub.metrics import (
    Ranking,
    Relevance,
    antihub_share,
    gini,
    k_occurrence,
    largest_count,
    rank,
    robin_hood,
    skewness,
    summarise,
)

from . import literal

counts_with_some = st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any)

# Five targets a reader can draw: all four queries find target 0, the hub; none finds targets 3 and 4.
PICTURE = np.array([[0, 1], [0, 1], [0, 2], [0, 2]])


def test_the_picture():
    counts = k_occurrence(PICTURE, gallery=5)
    assert counts.tolist() == [4, 2, 2, 0, 0]
    assert k_occurrence(PICTURE, gallery=5, k=1).tolist() == [4, 0, 0, 0, 0]
    assert antihub_share(counts) == 0.4
    assert largest_count(counts) == 4
    assert robin_hood(counts) == pytest.approx((2.4 + 0.4 + 0.4) / 8)
    assert gini(counts) == pytest.approx((0 * -4 + 0 * -2 + 2 * 0 + 2 * 2 + 4 * 4) / (5 * 8))


def test_zeros_are_counted():
    """Dropping the never-retrieved targets would make this gallery look perfectly even."""
    top = np.zeros((10, 1), dtype=int)
    counts = k_occurrence(top, gallery=100)
    assert counts.size == 100
    assert skewness(counts) == pytest.approx(scipy.stats.skew([10] + [0] * 99))
    assert skewness(counts) > 9
    assert skewness(counts[counts > 0]) == 0.0
    assert antihub_share(counts) == 0.99
    assert gini(counts) == pytest.approx(0.99)
    assert robin_hood(counts) == pytest.approx(0.99)


@given(counts_with_some)
@settings(deadline=None)
def test_indices_match_the_literal_ones(counts):
    assert skewness(counts) == pytest.approx(literal.skewness(counts), abs=1e-12)
    assert robin_hood(counts) == pytest.approx(literal.robin_hood(counts), abs=1e-12)
    assert gini(counts) == pytest.approx(literal.gini(counts), abs=1e-12)
    assert antihub_share(counts) == counts.count(0) / len(counts)
    assert largest_count(counts) == max(counts)


@given(counts_with_some.filter(lambda counts: len(set(counts)) > 1))
@settings(deadline=None)
def test_skewness_is_scipys_biased_one(counts):
    assert skewness(counts) == pytest.approx(float(scipy.stats.skew(counts)), abs=1e-9)


def test_equal_counts_are_not_skewed():
    assert skewness([3, 3, 3]) == 0.0
    assert gini([3, 3, 3]) == robin_hood([3, 3, 3]) == 0.0
    assert gini([0, 0]) == robin_hood([0, 0]) == 0.0


@pytest.mark.parametrize("ignore_self", [False, True])
def test_counts_of_a_ranking_match_the_literal_ones_and_k_is_clipped(ignore_self):
    scores = np.random.default_rng(3).integers(0, 9, size=(8, 8)).astype(float)
    ranking = rank(scores, Relevance.from_labels([0] * 8, [0] * 8), ignore_self=ignore_self)
    for k in (1, 5, 10):
        counts = literal.k_occurrence(scores.tolist(), min(k, 8), left_out=ignore_self)
        found = summarise(ranking, [f"skew@{k}", f"antihub@{k}", f"max_n@{k}", f"robin_hood@{k}", f"gini@{k}"])
        expected = [
            literal.skewness(counts),
            100 * counts.count(0) / 8,
            max(counts),
            literal.robin_hood(counts),
            literal.gini(counts),
        ]
        np.testing.assert_allclose(list(found.values()), expected, atol=1e-12)


def test_best_targets_alone_are_enough():
    assert summarise(Ranking.from_top(PICTURE, 5), ["antihub@1", "max_n@1"]) == {
        "antihub@1": 80.0,
        "max_n@1": 4.0,
    }


def test_errors_are_sentences():
    with pytest.raises(InputError) as raised:
        k_occurrence(PICTURE, gallery=5, k=3)
    assert str(raised.value) == (
        "counting the top 3 needs the best 3 targets of each query, but 2 were kept; rank with depth=3."
    )
    with pytest.raises(InputError) as raised:
        k_occurrence(np.array([[0, -1]]), gallery=5)
    assert str(raised.value) == "top holds target -1, but the gallery has 5 targets, counted from 0."
