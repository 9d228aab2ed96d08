"""What a fitted correction promises to those who serve it: one more dimension, and new targets without a refit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import additive as literal

from identities.at_full_strength import fit
from identities.strategies import matrices, some_weights, vectors

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ADDITIVE = ("none", "is", "dualis", "sn", "capped_sn", "dbsn", "nnn", "csls", "dn")
CLOSE = 1e-5

methods = st.sampled_from(ADDITIVE)


@given(vectors(), methods)
def test_one_more_dimension_is_score_plus_bias(p, name):
    """[q; 1] . [t; bias] = s + bias, exactly: nothing is rounded on the way into the new dimension."""
    found = fit(name, **p.given(name))
    q, t = found.augment_queries(p.queries), found.augment(p.targets)
    assert q.shape[1] == t.shape[1] == p.targets.shape[1] + 1
    np.testing.assert_array_equal(q, np.hstack((p.queries, np.ones((len(p.queries), 1), dtype=np.float32))))
    np.testing.assert_array_equal(t, np.hstack((p.targets, found.bias[:, None])))
    corrected = p.queries.astype(np.float64) @ p.targets.T.astype(np.float64) + found.bias
    np.testing.assert_allclose(q.astype(np.float64) @ t.T.astype(np.float64), corrected, rtol=0, atol=1e-14)


@given(vectors(), methods)
def test_search_ranks_by_score_plus_bias(p, name):
    found = fit(name, **p.given(name))
    hits = found.search(p.queries, k=5)
    corrected = p.queries.astype(np.float64) @ p.targets.T.astype(np.float64) + found.bias
    best = -np.sort(-corrected, axis=1)[:, :5]
    np.testing.assert_allclose(hits.scores, best, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(corrected, np.asarray(hits.ids, dtype=int), axis=1), best, atol=1e-6)


@given(vectors(), methods)
def test_a_fitted_target_that_comes_again_has_its_fitted_bias(p, name):
    found = fit(name, **p.given(name))
    np.testing.assert_allclose(found.extend(p.targets), found.bias, atol=CLOSE)


@given(matrices(), methods, st.sampled_from((1.0, 0.4)))
def test_a_fitted_column_that_comes_again_has_its_fitted_bias(p, name, strength):
    extra = {} if name == "none" else {"strength": strength}
    found = fit(name, **p.given(name), **extra)
    again = {"target_bank_scores": p.s_tt} if name == "dualis" else {}
    np.testing.assert_allclose(found.extend(scores=p.s_bt, **again), found.bias, atol=CLOSE)


@given(matrices(), st.integers(1, 10))
def test_the_last_half_step_answers_for_unseen_targets(p, rounds):
    """bias(t) = tau (log b - LSE_u(q_u . t / tau + log alpha_u)), against the alphas of the literal loop."""
    tau = p.tau
    log_alpha, log_beta = literal.sinkhorn(p.s_bt, tau, rounds)
    unseen = p.s_bb.astype(np.float64)
    expected = tau * (np.log(1 / p.s_bt.shape[1]) - literal.log_sum_exp(unseen / tau + log_alpha[:, None], axis=0))
    found = fit("sn", scores=p.s_bt, tau=tau, iterations=rounds)
    np.testing.assert_allclose(found.extend(scores=p.s_bb), expected - tau * log_beta.mean(), atol=CLOSE)


@given(matrices(), st.sampled_from(("is", "sn", "dbsn", "nnn", "csls", "dn")))
def test_weights_of_the_bank_count_for_unseen_targets_too(p, name):
    weight = some_weights(p.rng, len(p.s_bt))
    found = fit(name, **p.given(name), query_weight=weight)
    np.testing.assert_allclose(found.extend(scores=p.s_bt), found.bias, atol=CLOSE)


@given(vectors(), st.sampled_from(("is", "sn", "dbsn")))
def test_unseen_targets_of_a_closed_form_are_as_if_fitted_together(p, name):
    """New targets do not disturb the old: the bias of both, side by side, is the bias of each."""
    found = fit(name, **p.given(name))
    both = np.vstack((p.targets, p.target_bank))
    np.testing.assert_allclose(
        found.extend(both), np.concatenate((found.bias, found.extend(p.target_bank))), atol=CLOSE
    )
    if name == "is":
        refitted = fit("is", targets=both, query_bank=p.query_bank, tau=p.tau).bias
        np.testing.assert_allclose(literal.gauge_free(found.extend(both).astype(np.float64)), refitted, atol=CLOSE)


def test_scores_that_were_never_vectors_cannot_be_searched():
    found = fit("is", scores=np.eye(3, dtype=np.float32), tau=0.2)
    with pytest.raises(ValueError, match="fitted on scores"):
        found.search(np.eye(3, dtype=np.float32))
