"""Every additive method against its literal float64 formula: the bias, gauge-free, to 1e-5 of the scores' scale."""

import numpy as np
import pytest

import unhub
from reference import additive as literal
from reference.problems import scores, weights
from unhub.methods import DualIS, method_class

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

TOLERANCE = 1e-5
"""of the scale of the scores (1 for cosines): what float32 scores may cost, definitions.md section 1"""

SIZES = [(1, 1), (1, 7), (6, 1), (3, 4), (40, 25), (25, 40), (300, 200)]
SCALES = [1.0, 100.0]
TEMPERATURES = [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0]

by_size = pytest.mark.parametrize(("rows", "columns"), SIZES)
by_scale = pytest.mark.parametrize("scale", SCALES)
by_tau = pytest.mark.parametrize("tau", TEMPERATURES)


def agree(correction, expected, scale=1.0):
    assert correction.bias.dtype == np.float32
    assert correction.bias.mean(dtype=np.float64) == pytest.approx(0, abs=1e-6 * scale)
    np.testing.assert_array_equal(correction.hubness, -correction.bias)
    np.testing.assert_allclose(correction.bias, literal.gauge_free(expected), rtol=0, atol=TOLERANCE * scale)


def problem(rows, columns, scale=1.0, extra=0):
    """s_bt (rows, columns), and for ``extra`` target bank items s_bb (rows, extra) and s_tt (extra, columns)."""
    rng = np.random.default_rng([rows, columns])
    shapes = (rows, columns), (rows, extra), (extra, columns)
    return [scores(rng, *shape, scale) for shape in shapes[: 3 if extra else 1]]


def test_the_reference_is_algorithm_a1():
    """Where exp(s / tau) does not overflow, the log-domain reference and the letters of the paper agree."""
    (s,) = problem(30, 20)
    s = s.astype(np.float64)
    for rounds in (1, 3, 10):
        log_beta = literal.sinkhorn(s, 0.05, rounds)[1]
        np.testing.assert_allclose(np.exp(log_beta), literal.sinkhorn_without_logarithms(s, 0.05, rounds), rtol=1e-9)


def test_the_reference_meets_another_library():
    """At convergence Sinkhorn has one plan, whoever computes it."""
    ot = pytest.importorskip("ot", reason="POT is not installed")
    (s,) = problem(12, 9)
    log_alpha, log_beta = literal.sinkhorn(s, 0.05, 2000)
    theirs = ot.sinkhorn(np.full(12, 1 / 12), np.full(9, 1 / 9), 1.0 - s.astype(np.float64), 0.05, stopThr=1e-14)
    np.testing.assert_allclose(literal.plan(s, 0.05, log_alpha, log_beta), theirs, atol=1e-10)


@by_size
def test_none(rows, columns):
    (s,) = problem(rows, columns)
    agree(unhub.fit("none", scores=s), literal.none(s))


@by_tau
@by_scale
@by_size
def test_inverted_softmax(rows, columns, scale, tau):
    (s,) = problem(rows, columns, scale)
    agree(unhub.fit("is", scores=s, tau=tau), literal.inverted_softmax(s, tau), scale)


@by_tau
@by_scale
@by_size
def test_dual_inverted_softmax(rows, columns, scale, tau):
    s, _, s_tt = problem(rows, columns, scale, extra=13)
    found = unhub.fit("dualis", scores=s, target_bank_scores=s_tt, tau1=tau, tau2=3 * tau)
    agree(found, literal.dual_inverted_softmax(s, s_tt, tau, 3 * tau), scale)


def test_dual_inverted_softmax_with_published_temperatures():
    s, _, s_tt = problem(80, 60, extra=50)
    agree(
        unhub.fit(DualIS.paper(), scores=s, target_bank_scores=s_tt), literal.dual_inverted_softmax(s, s_tt, 0.02, 1.0)
    )


@by_tau
@by_scale
@by_size
def test_sinkhorn_normalisation(rows, columns, scale, tau):
    (s,) = problem(rows, columns, scale)
    agree(unhub.fit("sn", scores=s, tau=tau), literal.sinkhorn_normalisation(s, tau), scale)


@by_tau
@by_scale
@by_size
def test_dual_bank_sinkhorn_normalisation(rows, columns, scale, tau):
    s, s_bb, _ = problem(rows, columns, scale, extra=17)
    found = unhub.fit("dbsn", scores=s, cross_bank_scores=s_bb, tau=tau)
    agree(found, literal.dual_bank_sinkhorn_normalisation(s, s_bb, tau), scale)


@pytest.mark.parametrize("rounds", [1, 2, 3, 25])
@pytest.mark.parametrize("tau", [0.003, 0.03])
def test_any_number_of_rounds(rounds, tau):
    (s,) = problem(50, 40)
    found = unhub.fit("sn", scores=s, tau=tau, iterations=rounds)
    assert found.iterations == rounds
    agree(found, literal.sinkhorn_normalisation(s, tau, rounds))


@pytest.mark.parametrize("k", [1, 3, 10, 128])
@by_scale
@by_size
def test_nearest_neighbours(rows, columns, scale, k):
    (s,) = problem(rows, columns, scale)
    agree(unhub.fit("nnn", scores=s, k=k), literal.nearest_neighbour_normalisation(s, k), scale)
    agree(unhub.fit("csls", scores=s, k=k), literal.cross_domain_local_scaling(s, k), scale)


@by_scale
@by_size
def test_distribution_normalisation(rows, columns, scale):
    (s,) = problem(rows, columns, scale)
    agree(unhub.fit("dn", scores=s), literal.distribution_normalisation(s), scale)
    agree(unhub.fit("dn", scores=s, w=1.0), literal.distribution_normalisation(s, 1.0), scale)


DEFAULTS = {
    "is": lambda s: literal.inverted_softmax(s, 0.02),
    "sn": lambda s: literal.sinkhorn_normalisation(s, 0.01, 10),
    "nnn": lambda s: literal.nearest_neighbour_normalisation(s, 128, 0.75),
    "csls": lambda s: literal.cross_domain_local_scaling(s, 10),
    "dn": lambda s: literal.distribution_normalisation(s, 0.5),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_published_defaults(name):
    (s,) = problem(200, 90)
    agree(unhub.fit(method_class(name).paper(), scores=s), DEFAULTS[name](s))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("tau", [1e-4, 0.01, 10.0])
def test_three_thousand_queries_and_seven_hundred_targets(tau, scale):
    s, s_bb, s_tt = problem(3000, 700, scale, extra=200)
    agree(unhub.fit("is", scores=s, tau=tau), literal.inverted_softmax(s, tau), scale)
    agree(unhub.fit("sn", scores=s, tau=tau), literal.sinkhorn_normalisation(s, tau), scale)
    agree(
        unhub.fit("dbsn", scores=s, cross_bank_scores=s_bb, tau=tau, iterations=3),
        literal.dual_bank_sinkhorn_normalisation(s, s_bb, tau, 3),
        scale,
    )
    agree(
        unhub.fit("dualis", scores=s, target_bank_scores=s_tt, tau1=tau, tau2=0.5),
        literal.dual_inverted_softmax(s, s_tt, tau, 0.5),
        scale,
    )


def test_many_neighbours_of_three_thousand_queries():
    (s,) = problem(3000, 700)
    agree(unhub.fit("nnn", scores=s), literal.nearest_neighbour_normalisation(s))
    agree(unhub.fit("dn", scores=s), literal.distribution_normalisation(s))


@pytest.mark.parametrize("tau", [1e-4, 1e-3, 0.01, 1.0])
def test_targets_and_queries_far_from_all_others(tau):
    """exp(s / tau) of the loneliest target is zero in any precision; its bias is a plain number all the same."""
    s, s_bb, _ = problem(60, 45, extra=20)
    s[:, 7] -= 1.1
    s[:, 8] += 0.7
    s[3, :] -= 0.9
    s[11, 13] = 1.0
    s_bb[3, :] -= 0.9
    agree(unhub.fit("is", scores=s, tau=tau), literal.inverted_softmax(s, tau))
    agree(unhub.fit("sn", scores=s, tau=tau), literal.sinkhorn_normalisation(s, tau))
    agree(
        unhub.fit("dbsn", scores=s, cross_bank_scores=s_bb, tau=tau),
        literal.dual_bank_sinkhorn_normalisation(s, s_bb, tau),
    )


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_scores_of_other_precision(kind):
    """Half precision is read as it is and computed in float32; double precision stays double."""
    s = problem(60, 45)[0].astype(kind)
    agree(unhub.fit("is", scores=s, tau=0.02), literal.inverted_softmax(s, 0.02))
    agree(unhub.fit("sn", scores=s, tau=0.01), literal.sinkhorn_normalisation(s, 0.01))


@pytest.mark.parametrize("tau", [0.001, 0.01, 1.0])
@pytest.mark.parametrize(("rows", "columns"), [(1, 7), (40, 25), (300, 200)])
def test_marginals_other_than_uniform(rows, columns, tau):
    rng = np.random.default_rng(7)
    s, s_bb, s_tt = problem(rows, columns, extra=11)
    a, b = weights(rng, rows), weights(rng, columns)
    given = {"query_weight": a, "target_prior": b}
    agree(unhub.fit("is", scores=s, tau=tau, **given), literal.inverted_softmax(s, tau, a, b))
    agree(unhub.fit("sn", scores=s, tau=tau, **given), literal.sinkhorn_normalisation(s, tau, 10, a, b))
    agree(
        unhub.fit("dbsn", scores=s, cross_bank_scores=s_bb, tau=tau, **given),
        literal.dual_bank_sinkhorn_normalisation(s, s_bb, tau, 10, a, b),
    )
    agree(
        unhub.fit("dualis", scores=s, target_bank_scores=s_tt, tau1=tau, tau2=1.0, **given),
        literal.dual_inverted_softmax(s, s_tt, tau, 1.0, a, b),
    )


def test_weighted_means():
    rng = np.random.default_rng(8)
    (s,) = problem(40, 25)
    a = weights(rng, 40)
    agree(unhub.fit("nnn", scores=s, k=9, query_weight=a), literal.nearest_neighbour_normalisation(s, 9, a=a))
    agree(unhub.fit("csls", scores=s, query_weight=a), literal.cross_domain_local_scaling(s, a=a))
    agree(unhub.fit("dn", scores=s, query_weight=a), literal.distribution_normalisation(s, a=a))


@pytest.mark.parametrize("name", ["nnn", "csls", "dn"])
def test_a_prior_means_nothing_without_a_temperature(name):
    with pytest.raises(ValueError, match="target_prior"):
        unhub.fit(name, scores=problem(40, 25)[0], target_prior=np.ones(25))


@pytest.mark.parametrize("rounds", [1, 5, 10])
def test_the_row_marginal_error_that_is_reported(rounds):
    """sum_u |row sum of the plan - a_u|, after the last target-side half-step."""
    (s,) = problem(60, 45)
    log_alpha, log_beta = literal.sinkhorn(s, 0.01, rounds)
    error = np.abs(literal.plan(s, 0.01, log_alpha, log_beta).sum(axis=1) - 1 / 60).sum()
    found = unhub.fit("sn", scores=s, tau=0.01, iterations=rounds)
    assert found.marginal_error == pytest.approx(error, rel=1e-3, abs=1e-5)
    assert found.status == "iterations reached"


def test_tolerance_runs_to_convergence():
    (s,) = problem(60, 45)
    found = unhub.fit("sn", scores=s, tau=0.02, tol=1e-5)
    assert found.status == "converged"
    assert found.marginal_error <= 1e-5
    assert found.iterations > 10
    agree(found, literal.sinkhorn_normalisation(s, 0.02, found.iterations))
    agree(found, literal.sinkhorn_normalisation(s, 0.02, 5000))
