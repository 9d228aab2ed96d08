"""Problems whose answer is known before any method is asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identities.at_full_strength import fit
from identities.strategies import planted, separable

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

WHOLE = {
    "is": {},
    "sn": {"iterations": 1},
    "nnn": {"alpha": 1.0, "k": 3},
    "dn": {"w": 1.0},
}
"""methods, with the settings that take out all of what a target has of its own"""


@given(separable(), st.sampled_from(sorted(WHOLE)))
def test_scores_of_row_plus_column_leave_nothing_to_guess(problem, name):
    s, tau, answer = problem
    temperature = {"tau": tau} if name in ("is", "sn") else {}
    np.testing.assert_allclose(fit(name, scores=s, **temperature, **WHOLE[name]).bias, answer, atol=1e-5)


@given(separable())
def test_csls_takes_out_half(problem):
    s, _, answer = problem
    np.testing.assert_allclose(fit("csls", scores=s, k=3).bias, answer / 2, atol=1e-5)


@given(separable(), st.integers(1, 9))
def test_dbsn_takes_out_all_of_it_whatever_the_target_bank(problem, extra):
    s, tau, answer = problem
    more = (s[:, :1] + np.linspace(-0.3, 0.3, extra)).astype(np.float32)
    found = fit("dbsn", scores=s, cross_bank_scores=more, tau=tau, iterations=2)
    np.testing.assert_allclose(found.bias, answer, atol=1e-5)


@given(planted())
def test_sinkhorn_finds_a_planted_plan(problem):
    s, tau, a, b, answer = problem
    found = fit("sn", scores=s, tau=tau, query_weight=a, target_prior=b, tol=1e-10)
    assert found.status == "converged"
    np.testing.assert_allclose(found.bias, answer, atol=1e-6)


@given(planted())
def test_every_target_comes_up_as_often_as_its_prior_says(problem):
    """Under the corrected softmax of each bank query, the mean probability of a target is its share."""
    s, tau, a, b, _ = problem
    bias = fit("sn", scores=s, tau=tau, query_weight=a, target_prior=b, tol=1e-10).bias
    x = (s + bias) / tau
    chosen = np.exp(x - x.max(axis=1, keepdims=True))
    chosen /= chosen.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(a @ chosen, b, rtol=1e-4)
