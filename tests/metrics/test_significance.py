"""McNemar, the clustered bootstrap and Holm."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from unhub.foundation.errors import InputError
from unhub.metrics import bootstrap_difference, bootstrap_mean, holm, mcnemar


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5), st.integers(0, 5))
@settings(deadline=None)
def test_mcnemar_is_the_two_sided_binomial_test(only_first, only_second, both, neither):
    first = [1] * only_first + [0] * only_second + [1] * both + [0] * neither
    second = [0] * only_first + [1] * only_second + [1] * both + [0] * neither
    if not first:
        return
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (only_first, only_second)
    total = only_first + only_second
    expected = scipy.stats.binomtest(only_first, total, 0.5).pvalue if total else 1.0
    assert found.p_value == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand():
    """Five to nothing: 2 * (1/2)^5."""
    assert mcnemar([1] * 5, [0] * 5).p_value == pytest.approx(1 / 16)


def test_mcnemar_leaves_out_queries_that_are_not_judged():
    assert mcnemar([1.0, np.nan, 0.0], [0.0, np.nan, 0.0]).only_first == 1


def test_holm_by_hand():
    """Ascending .01 .02 .03 .04: times 4, 3, 2, 1 is .04 .06 .06 .04, none below the one before."""
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03, 0.02]), [0.06, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1.0, 1.0])
    assert holm([]).size == 0


@given(st.lists(st.floats(0, 1), max_size=8))
@settings(deadline=None)
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= np.array(p_values)).all()
    assert (np.diff(adjusted[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(0).random(50)
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


def test_the_value_is_the_plain_mean_inside_its_interval():
    values = np.random.default_rng(1).random(80)
    found = bootstrap_mean(values)
    assert found.value == pytest.approx(values.mean())
    assert found.low < found.value < found.high


def test_the_interval_covers_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(2)
    covered = []
    for seed in range(300):
        found = bootstrap_mean(rng.random(120) < 0.3, rounds=400, seed=seed)
        covered.append(found.low <= 0.3 <= found.high)
    assert 0.90 <= np.mean(covered) <= 0.98


def test_clusters_that_move_together_widen_the_interval_as_they_should():
    """Five equal captions for each of 60 targets are 60 observations, not 300."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(60), 5)
    covered, alone = [], []
    for seed in range(200):
        values = np.repeat(rng.random(60) < 0.4, 5)
        joint, single = (bootstrap_mean(values, clusters=c, rounds=400, seed=seed) for c in (clusters, None))
        covered.append(joint.low <= 0.4 <= joint.high)
        alone.append(single.low <= 0.4 <= single.high)
    assert 0.90 <= np.mean(covered) <= 0.98
    assert np.mean(alone) < 0.75


def test_the_width_matches_the_formula_for_clusters_of_unequal_size():
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(200), rng.integers(1, 6, size=200))
    values = rng.random(clusters.size)
    found = bootstrap_mean(values, clusters=rng.permutation(1000)[clusters], rounds=8000)
    residuals = np.bincount(clusters, weights=values - values.mean())
    error = np.sqrt((residuals**2).sum()) / values.size
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_a_difference_is_paired():
    """Two methods that differ by a constant on every query: no doubt about the difference at all."""
    values = np.random.default_rng(5).random(40)
    found = bootstrap_difference(values + 0.25, values)
    assert found.value == pytest.approx(0.25)
    assert found.high - found.low == pytest.approx(0, abs=1e-12)


def test_queries_not_judged_are_left_out():
    assert bootstrap_mean([1.0, np.nan, 0.0], clusters=[1, 2, 3]).value == 0.5


ERRORS = {
    "lengths": (
        lambda: mcnemar([1, 0], [1]),
        "first has 2 queries and second 1; compare methods on the same queries",
    ),
    "not hits": (
        lambda: mcnemar([0.37, 1], [0, 1]),
        "McNemar compares hits and misses, 1 and 0, but a value is 0.37; use R@k per query",
    ),
    "half judged": (
        lambda: bootstrap_difference([1, np.nan], [1, 0]),
        "query 1 has a value in one method and NaN in the other",
    ),
    "none judged": (
        lambda: bootstrap_mean([np.nan]),
        "values has no query with a relevant target; there is nothing to compare",
    ),
    "matrix": (
        lambda: bootstrap_mean([[1.0]]),
        "values must be flat, one value for each query, but has shape (1, 1)",
    ),
    "clusters": (
        lambda: bootstrap_mean([1, 0], clusters=[1]),
        "clusters has shape (1,) but there are 2 queries; give one id for each",
    ),
    "level": (
        lambda: bootstrap_mean([1, 0], level=95),
        "level is 95; an interval's level is between 0 and 1, such as 0.95",
    ),
    "rounds": (lambda: bootstrap_mean([1, 0], rounds=0), "rounds is 0; resample at least once"),
    "p-values": (
        lambda: holm([0.5, 2]),
        "p_values must be a flat list of numbers between 0 and 1, but came as [0.5, 2.0]",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_sentences(case):
    attempt, sentence = ERRORS[case]
    with pytest.raises(InputError) as raised:
        attempt()
    assert str(raised.value) == f"{sentence}."
