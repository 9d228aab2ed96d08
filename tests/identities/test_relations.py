"""Methods that become one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identities.at_full_strength import fit, normalize
from identities.strategies import matrices, vectors

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

CLOSE = 1e-5


def by_row(x):
    """Rows with mean zero, as only differences within a row rank."""
    return x - x.mean(axis=1, keepdims=True)


@given(matrices(), st.integers(1, 12))
def test_dbsn_with_an_empty_target_bank_is_sn(p, rounds):
    given = {"scores": p.s_bt, "tau": p.tau, "iterations": rounds}
    empty = fit("dbsn", **given, cross_bank_scores=p.s_bb[:, :0])
    np.testing.assert_array_equal(empty.bias, fit("sn", **given).bias)


@given(vectors())
def test_dbsn_with_an_empty_target_bank_is_sn_on_embeddings(p):
    given = {"targets": p.targets, "query_bank": p.query_bank, "tau": p.tau}
    empty = fit("dbsn", **given, target_bank=p.target_bank[:0])
    np.testing.assert_array_equal(empty.bias, fit("sn", **given).bias)


@given(matrices(), st.integers(1, 12))
def test_dbsn_with_the_targets_as_target_bank_is_sn(p, rounds):
    given = {"scores": p.s_bt, "tau": p.tau, "iterations": rounds}
    twice = fit("dbsn", **given, cross_bank_scores=p.s_bt)
    np.testing.assert_allclose(twice.bias, fit("sn", **given).bias, atol=CLOSE)


@given(vectors())
def test_dbsn_with_the_targets_as_target_bank_is_sn_on_embeddings(p):
    given = {"targets": p.targets, "query_bank": p.query_bank, "tau": p.tau}
    twice = fit("dbsn", **given, target_bank=p.targets)
    np.testing.assert_allclose(twice.bias, fit("sn", **given).bias, atol=CLOSE)


@given(matrices(), st.sampled_from(("is", "sn", "nnn", "csls", "dn")))
def test_one_bank_methods_do_not_see_a_target_bank(p, name):
    alone = fit(name, **p.given(name))
    beside = fit(name, **p.given(name), cross_bank_scores=p.s_bb, target_bank_scores=p.s_tt)
    np.testing.assert_array_equal(beside.bias, alone.bias)


@given(vectors())
def test_inverted_softmax_does_not_see_a_target_bank_on_embeddings(p):
    alone = fit("is", **p.given("is"))
    np.testing.assert_array_equal(fit("is", **p.given("is"), target_bank=p.target_bank).bias, alone.bias)


@given(matrices(), st.integers(1, 30))
def test_csls_is_half_of_nearest_neighbours(p, k):
    csls, nnn = (
        fit("csls", scores=p.s_bt, k=k).bias,
        fit("nnn", scores=p.s_bt, k=k, alpha=0.5).bias,
    )
    np.testing.assert_allclose(csls, nnn, atol=1e-7)


@given(matrices())
def test_dis_with_every_target_active_is_is(p):
    given = {"scores": p.s, "query_bank_scores": p.s_bt, "tau": p.tau}
    everything = normalize("dis", **given, k=p.s.shape[1])
    np.testing.assert_allclose(by_row(everything), by_row(normalize("is", **given)), atol=CLOSE)


@given(matrices())
def test_dualdis_with_every_target_active_is_dualis(p):
    given = {"scores": p.s, "query_bank_scores": p.s_bt, "target_bank_scores": p.s_tt, "tau1": p.tau, "tau2": 0.3}
    everything = normalize("dualdis", **given, k=p.s.shape[1])
    np.testing.assert_allclose(by_row(everything), by_row(normalize("dualis", **given)), atol=CLOSE)


@given(matrices(), st.integers(1, 10))
def test_localised_centring_of_first_power_is_nearest_neighbours(p, k):
    given = {"scores": p.s, "query_bank_scores": p.s_bt, "k": k}
    nnn = normalize("nnn", **given, alpha=1.0)
    np.testing.assert_allclose(by_row(normalize("centering", **given)), by_row(nnn), atol=CLOSE)


@given(matrices())
def test_many_neighbours_are_the_mean(p):
    nnn = fit("nnn", scores=p.s_bt, k=1000, alpha=0.5).bias
    np.testing.assert_allclose(nnn, fit("dn", scores=p.s_bt, w=0.5).bias, atol=1e-6)


@given(matrices())
def test_single_sinkhorn_of_the_only_query_without_a_bank_of_others(p):
    """One query joined to a bank is Sinkhorn normalisation of the bank with that row added."""
    query = p.s[:1]
    found = normalize("single_sinkhorn", scores=query, query_bank_scores=p.s_bt, tau=p.tau)
    joined = normalize("sn", scores=np.vstack((p.s_bt, query)), tau=p.tau)[-1:]
    np.testing.assert_allclose(by_row(found), by_row(joined), atol=2e-5)


@given(matrices(), st.sampled_from(("is", "sn", "dualis", "dbsn")))
def test_uniform_marginals_are_no_marginals(p, name):
    uniform = {"query_weight": np.full(p.s_bt.shape[0], 3.0), "target_prior": np.full(p.s_bt.shape[1], 0.2)}
    alone = fit(name, **p.given(name)).bias
    np.testing.assert_allclose(fit(name, **p.given(name), **uniform).bias, alone, atol=CLOSE)


@given(matrices(), st.sampled_from(("is", "sn", "dbsn")))
def test_a_query_of_weight_two_is_a_query_said_twice(p, name):
    weight = p.rng.integers(1, 4, len(p.s_bt))
    repeated = p.given(name, scores=np.repeat(p.s_bt, weight, axis=0))
    if name == "dbsn":
        repeated["cross_bank_scores"] = np.repeat(p.s_bb, weight, axis=0)
    weighted = fit(name, **p.given(name), query_weight=weight).bias
    np.testing.assert_allclose(weighted, fit(name, **repeated).bias, atol=CLOSE)
