"""What may be done to the scores without changing the answer, or changing it in a known way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.problems import scores as random_scores

import unhub
from identities.at_full_strength import fit
from identities.strategies import matrices, orders, vectors

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ADDITIVE = ("none", "is", "dualis", "sn", "capped_sn", "dbsn", "nnn", "csls", "dn")
SOFT = ("is", "sn", "dbsn")
CLOSE = 1e-5

methods = st.sampled_from(ADDITIVE)
soft_methods = st.sampled_from(SOFT)


def bias(name, **arguments):
    return fit(name, **arguments).bias.astype(np.float64)


def test_these_are_the_additive_methods():
    assert set(ADDITIVE) == set(unhub.ADDITIVE)


@given(matrices(), st.sampled_from(("sn", "dbsn")))
def test_a_constant_in_a_query_row_changes_nothing_in_sinkhorn(p, name):
    move = p.rng.normal(0, 0.3, (len(p.s_bt), 1))
    moved = p.given(name, scores=p.s_bt + move)
    if name == "dbsn":
        moved["cross_bank_scores"] = p.s_bb + move
    np.testing.assert_allclose(bias(name, **moved), bias(name, **p.given(name)), atol=CLOSE)


def test_a_constant_in_a_query_row_does_change_inverted_softmax():
    s = random_scores(np.random.default_rng(0), 20, 15)
    moved = s.copy()
    moved[3] += 0.2
    assert np.abs(bias("is", scores=moved, tau=0.01) - bias("is", scores=s, tau=0.01)).max() > 0.01


@given(matrices())
def test_a_constant_in_a_column_is_absorbed_by_inverted_softmax(p):
    move = p.rng.normal(0, 0.3, p.s_bt.shape[1])
    moved = bias("is", **p.given("is", scores=p.s_bt + move))
    np.testing.assert_allclose(moved, bias("is", **p.given("is")) - (move - move.mean()), atol=CLOSE)


@given(matrices(largest=8, kinds=(random_scores,)))
def test_a_constant_in_a_column_is_absorbed_by_sinkhorn_at_convergence(p):
    move = p.rng.normal(0, 0.1, p.s_bt.shape[1])
    settings = {"tau": 0.05, "tol": 1e-9, "iterations": 20_000}
    s = p.s_bt.astype(np.float64)
    moved = bias("sn", scores=s + move, **settings)
    np.testing.assert_allclose(moved, bias("sn", scores=s, **settings) - (move - move.mean()), atol=1e-5)


def test_a_constant_in_a_column_is_not_absorbed_by_few_rounds():
    s = random_scores(np.random.default_rng(1), 20, 15)
    move = np.zeros(15)
    move[4] = 0.3
    left = bias("sn", scores=s + move, tau=0.01, iterations=2) - bias("sn", scores=s, tau=0.01, iterations=2)
    assert np.abs(left + move - move.mean()).max() > 1e-3


@given(matrices(), soft_methods, st.integers(2, 4))
def test_a_bank_said_twice_says_the_same(p, name, times):
    repeated = p.given(name, scores=np.tile(p.s_bt, (times, 1)))
    if name == "dbsn":
        repeated["cross_bank_scores"] = np.tile(p.s_bb, (times, 1))
    np.testing.assert_allclose(bias(name, **repeated), bias(name, **p.given(name)), atol=CLOSE)


@given(matrices(), soft_methods, st.sampled_from((0.01, 0.5, 3.0, 100.0)))
def test_scaling_scores_and_tau_scales_the_bias(p, name, factor):
    scaled = p.given(name, scores=factor * p.s_bt.astype(np.float64), tau=factor * p.tau)
    if name == "dbsn":
        scaled["cross_bank_scores"] = factor * p.s_bb.astype(np.float64)
    np.testing.assert_allclose(bias(name, **scaled) / factor, bias(name, **p.given(name)), atol=CLOSE)


@given(st.data(), matrices(), methods)
def test_permuting_targets_permutes_the_bias(data, p, name):
    order = data.draw(orders(p.s_bt.shape[1]))
    permuted = p.given(name, scores=p.s_bt[:, order])
    if name == "dualis":
        permuted["target_bank_scores"] = p.s_tt[:, order]
    np.testing.assert_allclose(bias(name, **permuted), bias(name, **p.given(name))[order], atol=CLOSE)


@given(st.data(), matrices(), methods)
def test_permuting_the_banks_changes_nothing(data, p, name):
    order, order_targets = data.draw(orders(len(p.s_bt))), data.draw(orders(len(p.s_tt)))
    permuted = p.given(name, scores=p.s_bt[order])
    if name == "dbsn":
        permuted["cross_bank_scores"] = p.s_bb[order][:, order_targets]
    if name == "dualis":
        permuted["target_bank_scores"] = p.s_tt[order_targets]
    np.testing.assert_allclose(bias(name, **permuted), bias(name, **p.given(name)), atol=CLOSE)


@given(vectors(), methods)
def test_turning_all_vectors_together_changes_nothing(p, name):
    """Scores are inner products, so a rotation of the whole space cannot be seen."""
    turn = np.linalg.qr(p.rng.normal(size=(p.targets.shape[1],) * 2))[0].astype(np.float32)
    arguments = p.given(name)
    turned = {key: x @ turn for key, x in arguments.items() if key in ("targets", "query_bank", "target_bank")}
    np.testing.assert_allclose(bias(name, **(arguments | turned), normalize=True), bias(name, **arguments), atol=3e-5)


@given(matrices(), methods, st.sampled_from((0.0, 0.5, 2.0)))
def test_strength_multiplies_the_bias(p, name, strength):
    if name == "none":
        return
    found = fit(name, **p.given(name), strength=strength).served_bias
    np.testing.assert_allclose(found, strength * bias(name, **p.given(name)), atol=CLOSE)


@given(matrices(), methods)
def test_the_arguments_stay_as_they_were(p, name):
    arguments = p.given(name)
    before = {key: np.copy(value) for key, value in arguments.items()}
    fit(name, **arguments)
    for key, value in before.items():
        np.testing.assert_array_equal(arguments[key], value)
