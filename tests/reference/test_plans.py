"""The transport methods against plans found in other ways, on matrices small enough for them."""

import numpy as np
import pytest

import unhub
from reference import plans
from reference.problems import scores
from unhub.solvers import transport

pytest.importorskip("ot", reason="POT is not installed")

SIZES = [(1, 1), (4, 4), (6, 6), (5, 8), (9, 4)]
sizes = pytest.mark.parametrize(("rows", "columns"), SIZES)


def matrix(rows, columns):
    return scores(np.random.default_rng([rows, columns]), rows, columns).astype(np.float64)


def cost(s, plan):
    return ((1 - s) * plan).sum()


def has_uniform_marginals(plan, tolerance=1e-9):
    m, n = plan.shape
    np.testing.assert_allclose(plan.sum(axis=1), 1 / m, atol=tolerance)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / n, atol=tolerance)


@sizes
def test_transport_has_the_cost_of_the_linear_programme(rows, columns):
    s = matrix(rows, columns)
    plan = unhub.normalize("otn", scores=s)
    has_uniform_marginals(plan)
    assert plan.min() >= 0
    assert cost(s, plan) == pytest.approx(plans.transport_cost(s), abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_the_assignment_is_the_best_permutation(size):
    s = matrix(size, size)
    np.testing.assert_array_equal(unhub.normalize("hn", scores=s), plans.best_assignment(s))


@pytest.mark.parametrize("reg", [0.05, 1.0])
@sizes
def test_quadratic_regularisation(rows, columns, reg):
    s = matrix(rows, columns)
    plan = unhub.normalize("l2n", scores=s, reg=reg)
    has_uniform_marginals(plan, 1e-4)
    np.testing.assert_allclose(plan, plans.l2_plan(s, reg), atol=2e-4)


@pytest.mark.parametrize("k", [1, 2, 5])
@sizes
def test_sparsity_constraint(rows, columns, k):
    plan = unhub.normalize("sparse_k", scores=matrix(rows, columns), k=k)
    assert (plan > 0).sum(axis=0).max() <= k


@pytest.mark.parametrize(("rows", "columns", "k"), [(1, 1, 1), (6, 6, 1), (6, 6, 5), (5, 8, 2), (9, 4, 5), (12, 12, 2)])
def test_sparsity_constraint_where_it_can_be_met(rows, columns, k):
    """Some k leave room for uniform marginals (one entry per column of 5 x 8 does not); then the dual is tight."""
    s = matrix(rows, columns)
    plan = unhub.normalize("sparse_k", scores=s, k=k, reg=0.05)
    has_uniform_marginals(plan, 2e-4)
    np.testing.assert_allclose(plan, plans.sparse_plan(s, k, 0.05)[1], atol=2e-4)


def test_no_constraint_is_quadratic_regularisation():
    s = matrix(7, 7)
    dense = unhub.normalize("l2n", scores=s, reg=1.0)
    np.testing.assert_allclose(unhub.normalize("sparse_k", scores=s, k=7, reg=1.0), dense, atol=1e-4)


@pytest.mark.parametrize("k", [None, 2])
def test_entries_that_are_not_listed_do_not_matter(k):
    scores = np.random.default_rng(5).random((60, 40))
    short = transport.smooth_plan(scores, 0.05, most_per_column=k)
    assert transport.LISTED < 0.1
    whole = transport.smooth_plan(scores, 0.05, most_per_column=k, listed=1.0)
    np.testing.assert_allclose(short, whole, atol=1e-9)
    assert (short > 0).sum() < short.size / 10


@pytest.mark.parametrize(("rows", "columns"), [(40, 100), (60, 60)])
def test_ties_of_a_plan_are_ties(rows, columns):
    """The plan of the same problem in another order: the same places are the largest of a row, all of them."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(rows, columns)) * 0.05 + 0.2
    plan = transport.smooth_plan(scores, 0.05)
    down, along = rng.permutation(rows), rng.permutation(columns)
    again = np.empty_like(plan)
    again[np.ix_(down, along)] = transport.smooth_plan(scores[np.ix_(down, along)], 0.05)
    first, second = (each == each.max(axis=1, keepdims=True) for each in (plan, again))
    assert (first == second).all(axis=1).mean() > 0.95
    assert np.abs(plan.sum(axis=1) * rows - 1).max() < 2e-3
    assert np.abs(plan.sum(axis=0) * columns - 1).max() < 2e-3
