"""Where the bias comes from: plans with marginals, half-steps, and what remains of them at the ends of tau."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import additive as literal
from reference import plans

from identities.at_full_strength import fit, normalize
from identities.strategies import matrices, some_weights, vectors
from unhub.metrics import emd

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


def plan_of(correction, s, tau):
    """alpha_u exp(s_uj / tau) beta_j from what a fitted correction holds, scaled to total mass one."""
    x = (s.astype(np.float64) + correction._potentials[:, None] + correction.bias) / tau
    plan = np.exp(x - x.max())
    return plan / plan.sum()


@given(matrices(), st.integers(1, 6))
def test_column_marginals_are_exact_after_any_number_of_rounds(p, rounds):
    found = fit("sn", scores=p.s_bt, tau=p.tau, iterations=rounds)
    n = p.s_bt.shape[1]
    np.testing.assert_allclose(plan_of(found, p.s_bt, p.tau).sum(axis=0), 1 / n, rtol=1e-3)


@given(matrices())
def test_the_row_marginal_error_does_not_grow(p):
    errors = [fit("sn", scores=p.s_bt, tau=p.tau, iterations=t).marginal_error for t in range(1, 8)]
    assert all(later <= earlier + 1e-5 for earlier, later in pairwise(errors))


@given(matrices())
def test_ranking_by_the_plan_is_ranking_by_score_plus_bias(p):
    """pi_uj differs from exp((s_uj + bias_j) / tau) by a factor of its row, which never ranks."""
    found = fit("sn", scores=p.s_bt, tau=p.tau)
    log_alpha, log_beta = literal.sinkhorn(p.s_bt, p.tau, 10)
    corrected = normalize("sn", scores=p.s_bt, tau=p.tau)
    by_plan = np.log(literal.plan(p.s_bt, p.tau, log_alpha, log_beta)) * p.tau
    between = (by_plan - corrected).astype(np.float64)
    np.testing.assert_allclose(between, np.broadcast_to(between[:, :1], between.shape), atol=3e-5)
    np.testing.assert_allclose(corrected, p.s_bt + found.bias, atol=1e-6)


@given(matrices())
def test_inverted_softmax_is_a_half_step_from_equal_queries(p):
    """Move every row until its own half-step asks for equal alphas; then one round of sn is is."""
    s = p.s_bt.astype(np.float64)
    level = s - p.tau * literal.log_sum_exp(s / p.tau, axis=1)[:, None]
    one_round = fit("sn", scores=s, tau=p.tau, iterations=1)
    half_step = fit("is", scores=level, tau=p.tau)
    np.testing.assert_allclose(one_round.bias, half_step.bias, atol=1e-6)


@given(matrices())
def test_inverted_softmax_is_optimal_when_only_targets_are_held(p):
    """Proposition 1: no other plan with these column marginals has more of <S, pi> + tau * entropy."""
    s = p.s_bt.astype(np.float64)
    m, n = s.shape
    bias = fit("is", scores=p.s_bt, tau=p.tau).bias.astype(np.float64)
    plan = np.exp((s + bias - (s + bias).max()) / p.tau)
    plan /= plan.sum()
    np.testing.assert_allclose(plan.sum(axis=0), 1 / n, rtol=1e-3)

    def gain(pi):
        return (s * pi).sum() - p.tau * (pi * np.log(pi, where=pi > 0, out=np.zeros_like(pi))).sum()

    plan /= n * plan.sum(axis=0)
    for share in (0.01, 0.3, 1.0):
        other = p.rng.dirichlet(np.ones(m), n).T / n
        assert gain((1 - share) * plan + share * other) <= gain(plan) + 1e-9


@given(matrices())
def test_a_large_tau_is_mean_centring(p):
    found = fit("is", scores=p.s_bt, tau=1e4)
    np.testing.assert_allclose(found.bias, literal.gauge_free(-p.s_bt.mean(axis=0, dtype=np.float64)), atol=1e-5)


@given(matrices())
def test_a_small_tau_is_minus_the_maximum(p):
    tau = 1e-5
    found = fit("is", scores=p.s_bt, tau=tau)
    room = tau * np.log(len(p.s_bt)) + 1e-6
    np.testing.assert_allclose(found.bias, literal.gauge_free(-p.s_bt.max(axis=0).astype(np.float64)), atol=room)


@given(matrices(), st.integers(1, 5), st.sampled_from((1e-4, 1e-2)))
def test_errors_of_the_scores_stay_bounded(p, rounds, delta):
    """Scores off by delta: is moves by at most delta, sn by at most 2 T delta, up to a constant."""
    off = p.s_bt.astype(np.float64) + p.rng.choice([-delta, 0, delta], p.s_bt.shape)
    for name, most, extra in (("is", delta, {}), ("sn", 2 * rounds * delta, {"iterations": rounds})):
        moved = fit(name, scores=off, tau=p.tau, **extra).bias.astype(np.float64)
        moved -= fit(name, scores=p.s_bt, tau=p.tau, **extra).bias
        assert np.ptp(moved) / 2 <= most + 1e-5


@given(matrices())
def test_a_wide_margin_survives_errors_of_the_scores(p):
    """A first place that leads by more than twice the error of score plus bias is the first place still."""
    delta, rounds = 1e-3, 2
    off = p.s_bt + p.rng.uniform(-delta, delta, p.s_bt.shape)
    before, after = (normalize("sn", scores=s, tau=p.tau, iterations=rounds) for s in (p.s_bt, off))
    if before.shape[1] > 1:
        second, first = np.sort(before, axis=1)[:, -2:].T
        sure = first - second > 2 * (2 * rounds * delta + delta) + 1e-5
        np.testing.assert_array_equal(before.argmax(axis=1)[sure], after.argmax(axis=1)[sure])


@given(st.data(), st.integers(1, 8))
def test_transport_and_assignment_cost_the_same_on_a_square(data, size):
    pytest.importorskip("ot", reason="POT is not installed")
    p = data.draw(matrices())
    s = p.rng.normal(0.2, 0.05, (size, size))
    plan, chosen = normalize("otn", scores=s), normalize("hn", scores=s)
    assert ((1 - s) * plan).sum() == pytest.approx(((1 - s) * chosen).sum() / size, abs=1e-9)


@given(vectors())
def test_a_target_bank_narrows_the_gap_only_as_far_as_it_is_near(p):
    """EMD(B_q, [T; B_t]) <= (1 - w) EMD(B_q, T) + w EMD(B_q, B_t), w = |B_t| / (|T| + |B_t|)"""
    pytest.importorskip("ot", reason="POT is not installed")
    both = np.vstack((p.targets, p.target_bank))
    w = len(p.target_bank) / len(both)
    to_both, to_targets, to_bank = (emd(p.query_bank, x).value for x in (both, p.targets, p.target_bank))
    assert to_both <= (1 - w) * to_targets + w * to_bank + 1e-6
    if len(p.query_bank) * len(both) < 200:
        exact = plans.earth_movers_distance(p.query_bank.astype(np.float64), both.astype(np.float64))
        assert to_both == pytest.approx(exact, abs=1e-5)


@given(matrices())
def test_marginals_reach_the_plan(p):
    a, b = some_weights(p.rng, p.s_bt.shape[0]), some_weights(p.rng, p.s_bt.shape[1])
    found = fit("sn", scores=p.s_bt, tau=p.tau, query_weight=a, target_prior=b)
    np.testing.assert_allclose(plan_of(found, p.s_bt, p.tau).sum(axis=0), b / b.sum(), rtol=2e-3)
