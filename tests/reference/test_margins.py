"""Margins say what the literal worst case says, and nothing within the bound breaks what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import margins as literal
from unhub.core.topk import top_k
from unhub.scores.margins import staying_hits, staying_places


@st.composite
def rankings(draw):
    """Corrected scores of a few queries on a grid, so that ties and gaps of exactly twice the error come up."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    queries, targets = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    scores = rng.integers(0, draw(st.sampled_from((6, 40))), (queries, targets)) / 8
    errors = rng.integers(0, 9, queries) / 16
    return scores, errors, draw(st.integers(1, targets)), rng


def best_of(scores, k):
    return top_k(scores, k + 1)[0]


@given(rankings())
def test_hits_and_places_that_stay_are_those_of_the_worst_case(problem):
    scores, errors, k, _ = problem
    hits, places = (rule(best_of(scores, k), errors, k) for rule in (staying_hits, staying_places))
    for row, error, hit, place in zip(scores, errors, hits, places, strict=True):
        best = literal.order(row)[:k]
        assert hit.tolist() == [literal.stays_among(row, target, error, k) for target in best]
        assert place.tolist() == [literal.keeps_place(row, target, error) for target in best]


@given(rankings())
def test_no_error_within_the_bound_changes_what_is_certain(problem):
    scores, errors, k, rng = problem
    hits, places = (rule(best_of(scores, k), errors, k) for rule in (staying_hits, staying_places))
    for row, error, hit, place in zip(scores, errors, hits, places, strict=True):
        best = literal.order(row)[:k]
        for off in attacks(row, error, k, rng):
            now = literal.order(row + off)[:k]
            assert set(best[hit]) <= set(now)
            assert (now[place] == best[place]).all()


@given(rankings())
def test_a_set_that_is_not_certain_changes_by_some_error_within_the_bound(problem):
    scores, errors, k, _ = problem
    hits = staying_hits(best_of(scores, k), errors, k)
    for row, error, hit in zip(scores, errors, hits, strict=True):
        if not hit[-1] and error > 0:
            best = literal.order(row)
            off = np.zeros(len(row))
            off[best[k - 1]], off[best[k]] = -error, error
            moved = row + off
            assert moved[best[k]] >= moved[best[k - 1]]  # it passes, or ties, which an index may break either way


def attacks(row, error, k, rng):
    """Errors within the bound: the last of the best down and the next up, all down and the rest up, random ones."""
    best = literal.order(row)
    for count in (k, 1):
        off = np.full(len(row), error)
        off[best[:count]] = -error
        yield off
    for _ in range(20):
        yield rng.choice((-error, 0, error), len(row))
        yield rng.uniform(-error, error, len(row))


@pytest.mark.parametrize("rule", [staying_hits, staying_places])
def test_nothing_comes_after_the_last_target(rule):
    assert rule(np.array([[0.9, 0.2]]), np.array([0.1]), 2).tolist() == [[True, True]]
