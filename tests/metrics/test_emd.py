"""The earth mover's distance against hand-solved cases, the assignment problem and the mixture inequality."""

import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.metrics import bank_precondition, bank_precondition_from_scores, emd, emd_from_scores

pytest.importorskip("ot", reason="POT is not installed; the earth mover's distance needs it")


def points(rng, n, dim=4):
    return rng.normal(size=(n, dim))


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_solved_by_hand():
    """East and north onto north and west, lengths ignored: one stays, one turns around, (0 + 2) / 2 = 1;
    moving both by a quarter turn costs the same, (1 + 1) / 2."""
    here, there = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 0.5], [-2.0, 0.0]])
    found = emd(here, there)
    assert found.value == found.low == found.high == pytest.approx(1.0)
    assert found.exact
    assert (found.sample, found.rounds) == (2, 1)


def test_unequal_sizes_by_hand():
    """One point onto two: half of it stays (cost 0), half makes a quarter turn (cost 1)."""
    assert emd(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).value == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_equal_sizes_are_an_assignment(seed):
    rng = np.random.default_rng(seed)
    x, y = points(rng, 30), points(rng, 30)
    cost = 1 - unit(x) @ unit(y).T
    assert emd(x, y).value == pytest.approx(cost[linear_sum_assignment(cost)].mean())


def test_a_set_is_at_no_distance_from_itself_at_any_scale():
    x = points(np.random.default_rng(0), 20)
    assert emd(x, 7 * x[::-1]).value == pytest.approx(0, abs=1e-12)


def test_scores_and_embeddings_agree():
    rng = np.random.default_rng(1)
    x, y = points(rng, 12), points(rng, 17)
    assert emd_from_scores(unit(x) @ unit(y).T).value == pytest.approx(emd(x, y).value)


def test_half_precision_is_measured_in_double():
    rng = np.random.default_rng(2)
    x, y = points(rng, 12).astype(np.float16), points(rng, 12).astype(np.float16)
    assert emd(x, y).value == pytest.approx(emd(x.astype(float), y.astype(float)).value, abs=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_mixture_inequality(bank, targets, others, seed):
    """EMD(B_q, [T; B_t]) <= (1 - w) EMD(B_q, T) + w EMD(B_q, B_t), w = |B_t| / (|T| + |B_t|)"""
    rng = np.random.default_rng(seed)
    b_q, t, b_t = points(rng, bank), points(rng, targets), points(rng, others)
    w = others / (targets + others)
    report = bank_precondition(b_q, b_t, t)
    bound = (1 - w) * report.to_targets.value + w * report.to_target_bank.value
    assert report.to_both.value <= bound + 1e-12
    assert report.holds == (report.to_target_bank.value < report.to_targets.value)
    if report.holds:
        assert report.to_both.value < report.to_targets.value


def test_the_precondition_holds_where_the_bank_is_near_and_fails_where_it_is_far():
    rng = np.random.default_rng(4)
    here, there = np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])
    b_q, near, far = (centre + 0.1 * points(rng, 20) for centre in (here, here, there))
    good, bad = bank_precondition(b_q, near, far), bank_precondition(b_q, far, near)
    assert good.holds
    assert good.certain
    assert not bad.holds
    assert bad.certain
    from_scores = bank_precondition_from_scores(unit(b_q) @ unit(near).T, unit(b_q) @ unit(far).T)
    assert from_scores.holds
    assert from_scores.to_both.value == pytest.approx(good.to_both.value)


def test_overlapping_intervals_are_not_certain():
    rng = np.random.default_rng(5)
    b_q, b_t, t = points(rng, 60), points(rng, 60), points(rng, 60)
    assert not bank_precondition(b_q, b_t, t, sample=5).certain


def test_a_large_set_is_sampled_with_an_interval_and_a_seed():
    rng = np.random.default_rng(6)
    x, y = points(rng, 300), points(rng, 40)
    found = emd(x, y, sample=50, rounds=4, seed=9)
    assert (found.exact, found.sample, found.rounds, found.seed) == (False, 50, 4, 9)
    assert found.low < found.value < found.high
    assert found == emd(x, y, sample=50, rounds=4, seed=9)
    assert found != emd(x, y, sample=50, rounds=4, seed=8)


def test_the_interval_is_students():
    """With one point in every draw, a distance is one entry of the cost, drawn as the seed says."""
    scores = np.random.default_rng(11).random((9, 9))
    found = emd_from_scores(scores, sample=1, rounds=6, seed=2)
    rng = np.random.default_rng(2)
    values = [1 - scores[rng.choice(9, 1)[0], rng.choice(9, 1)[0]] for _ in range(6)]
    low, high = scipy.stats.t.interval(0.95, df=5, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))


def test_the_interval_holds_the_expected_sampled_distance_about_95_times_in_100():
    rng = np.random.default_rng(7)
    x, y = points(rng, 200), points(rng, 200)
    expected = emd(x, y, sample=10, rounds=1500, seed=10**6).value
    inside = []
    for seed in range(200):
        found = emd(x, y, sample=10, rounds=5, seed=seed)
        inside.append(found.low <= expected <= found.high)
    assert 0.9 <= np.mean(inside) <= 0.99


def test_a_sampled_distance_is_too_large_on_average():
    rng = np.random.default_rng(8)
    x, y = points(rng, 150), points(rng, 150)
    assert emd(x, y, sample=150).value < emd(x, y, sample=60).low < emd(x, y, sample=15).low


def test_errors_are_sentences():
    flat, good = np.ones(3), np.ones((2, 3))
    cases = {
        "x has shape (3,); expected (points, dim) with at least one of each": lambda: emd(flat, good),
        "x has dimension 3 but y has 2; embed both with the same model": lambda: emd(good, np.ones((2, 2))),
        "y has rows that are zero or not finite (row 1): no direction": lambda: emd(
            good, np.array([[1.0, 0, 0], [0, 0, 0]])
        ),
        "sample is 0; draw at least 1 point from each set": lambda: emd(good, good, sample=0),
        "rounds is 1; an interval needs at least 2 rounds of sampling": lambda: emd(good, good, sample=1, rounds=1),
        "scores has shape (3,); expected a matrix with rows and columns": lambda: emd_from_scores(flat),
        "scores must be finite for a distance, but are not in row 1": lambda: emd_from_scores(
            np.array([[0.0], [np.nan]])
        ),
        "target_bank has shape (2, 3) and targets (2, 2); give rows of one dimension, "
        "embedded with the same model": lambda: bank_precondition(good, good, np.ones((2, 2))),
        "target_bank_scores has 2 rows and target_scores 1; both need one row for each query of the query bank": (
            lambda: bank_precondition_from_scores(good, good[:1])
        ),
    }
    for sentence, attempt in cases.items():
        with pytest.raises(InputError) as raised:
            attempt()
        assert str(raised.value) == f"{sentence}."


def test_without_pot_the_pip_command_is_printed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'unhub\[ot\]'"):
        emd(np.ones((2, 2)), np.ones((2, 2)))
