"""Per-query measures against literal loops, over every tie order, and against trec_eval."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhub.metrics import (
    TIES,
    Relevance,
    average_precision,
    best_rank,
    geometric_mean,
    hit_rate,
    ndcg,
    rank,
    recall,
    reciprocal_rank,
)

from . import literal

tied_problem = st.integers(1, 5).flatmap(
    lambda gallery: st.tuples(
        st.lists(
            st.tuples(
                st.lists(st.integers(0, 2), min_size=gallery, max_size=gallery),
                st.sets(st.integers(0, gallery - 1), min_size=1),
            ),
            min_size=1,
            max_size=3,
        ),
        st.just(gallery),
    )
)


@given(tied_problem, st.sampled_from(list(TIES)))
@settings(deadline=None)
def test_measures_match_the_literal_ones_over_all_orders_of_the_ties(problem, ties):
    queries, gallery = problem
    ranking = rank(
        np.array([row for row, _ in queries], dtype=float),
        Relevance.from_sets([items for _, items in queries], gallery),
        ties=ties,
    )
    places = [literal.sorted_places(row, items, ties) for row, items in queries]
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(best_rank(ranking), [min(own) for own in places], **close)
    np.testing.assert_allclose(reciprocal_rank(ranking), [literal.reciprocal_rank(own) for own in places], **close)
    np.testing.assert_allclose(average_precision(ranking), [literal.average_precision(own) for own in places], **close)
    for k in (1, 2, 5, 10):
        np.testing.assert_allclose(hit_rate(ranking, k), [literal.hit_rate(own, k) for own in places], **close)
        np.testing.assert_allclose(recall(ranking, k), [literal.recall(own, k) for own in places], **close)
        expected = [literal.ndcg(own, [1.0] * len(own), k) for own in places]
        np.testing.assert_allclose(ndcg(ranking, k), expected, **close)


@given(tied_problem, st.sampled_from(list(TIES)), st.integers(0, 99))
@settings(deadline=None)
def test_no_measure_leaves_the_unit_interval_and_pessimism_is_below_optimism(problem, ties, seed):
    queries, gallery = problem
    rows = np.array([i for i, (_, items) in enumerate(queries) for _ in items])
    targets = np.array([j for _, items in queries for j in sorted(items)])
    gains = np.random.default_rng(seed).integers(1, 4, size=rows.size)
    relevance = Relevance.from_pairs(rows, targets, queries=len(queries), gallery=gallery, gains=gains)
    scores = np.array([row for row, _ in queries], dtype=float)
    found = {name: rank(scores, relevance, ties=name) for name in TIES}
    for measure in (average_precision, reciprocal_rank, lambda r: ndcg(r, 3), lambda r: recall(r, 2)):
        low, mine, high = (measure(found[name]) for name in ("pessimistic", ties, "optimistic"))
        assert ((low <= mine + 1e-12) & (mine <= high + 1e-12) & (high <= 1 + 1e-12)).all()


@given(tied_problem, st.sampled_from(["average", "optimistic", "pessimistic"]), st.integers(0, 99))
@settings(deadline=None)
def test_the_order_of_the_gallery_does_not_matter(problem, ties, seed):
    queries, gallery = problem
    rng = np.random.default_rng(seed)
    order = rng.permutation(gallery)
    rows = np.array([i for i, (_, items) in enumerate(queries) for _ in items])
    targets = np.array([j for _, items in queries for j in sorted(items)])
    gains = rng.integers(1, 4, size=rows.size)
    scores = np.array([row for row, _ in queries], dtype=float)
    size = {"queries": len(queries), "gallery": gallery, "gains": gains}
    here = rank(scores, Relevance.from_pairs(rows, targets, **size), ties=ties)
    there = rank(scores[:, order], Relevance.from_pairs(rows, np.argsort(order)[targets], **size), ties=ties)
    for measure in (best_rank, average_precision, lambda r: ndcg(r, 2), lambda r: recall(r, 1)):
        np.testing.assert_allclose(measure(here), measure(there), rtol=1e-12)


def test_graded_gains_by_hand():
    """Targets in order of score: 2 (gain 1), 0 (not relevant), 1 (gain 3)."""
    relevance = Relevance.from_pairs([0, 0], [1, 2], queries=1, gallery=3, gains=[3, 1])
    ranking = rank(np.array([[0.5, 0.1, 0.9]]), relevance)
    best = 3 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(ranking, 3)[0] == pytest.approx((1 / math.log2(2) + 3 / math.log2(4)) / best)
    assert ndcg(ranking, 2)[0] == pytest.approx((1 / math.log2(2)) / best)
    assert ndcg(ranking, 1)[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("ties", "first", "second"), [("optimistic", 3, 1), ("pessimistic", 1, 3), ("average", 2, 2)])
def test_graded_gains_within_a_tie_by_hand(ties, first, second):
    """Two relevant targets, gains 1 and 3, share the first two places: who is first is up to the policy."""
    relevance = Relevance.from_pairs([0, 0], [0, 1], queries=1, gallery=3, gains=[1, 3])
    ranking = rank(np.array([[0.9, 0.9, 0.1]]), relevance, ties=ties)
    best = 3 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(ranking, 3)[0] == pytest.approx((first / math.log2(2) + second / math.log2(3)) / best)


def test_trec_eval_agrees_on_graded_data_without_ties():
    rng = np.random.default_rng(7)
    queries, gallery = 40, 60
    scores = np.stack([rng.permutation(gallery) for _ in range(queries)]).astype(np.float64)
    gains = np.where(rng.random((queries, gallery)) < 0.1, rng.integers(1, 4, (queries, gallery)), 0)
    gains[:, 0] = 1
    rows, targets = np.nonzero(gains)
    relevance = Relevance.from_pairs(rows, targets, queries=queries, gallery=gallery, gains=gains[rows, targets])
    ranking = rank(scores, relevance)
    qrels = [ir_measures.Qrel(f"{i:03}", str(j), int(gains[i, j])) for i, j in zip(rows, targets, strict=True)]
    run = [ir_measures.ScoredDoc(f"{i:03}", str(j), scores[i, j]) for i in range(queries) for j in range(gallery)]
    ours = {
        ir_measures.RR: reciprocal_rank(ranking),
        ir_measures.AP: average_precision(ranking),
        ir_measures.R @ 7: recall(ranking, 7),
        ir_measures.Success @ 3: hit_rate(ranking, 3),
        ir_measures.nDCG @ 5: ndcg(ranking, 5),
        ir_measures.nDCG @ 20: ndcg(ranking, 20),
    }
    theirs = {(each.measure, int(each.query_id)): each.value for each in ir_measures.iter_calc(ours, qrels, run)}
    assert len(theirs) == len(ours) * queries
    for measure, values in ours.items():
        np.testing.assert_allclose(values, [theirs[measure, i] for i in range(queries)], atol=1e-9)


def test_a_query_without_a_relevant_target_has_no_value():
    relevance = Relevance.from_sets([{0}, set()], gallery=2, allow_empty=True)
    ranking = rank(np.array([[1.0, 0.0], [1.0, 0.0]]), relevance)
    for values in (
        best_rank(ranking),
        hit_rate(ranking, 1),
        recall(ranking, 1),
        reciprocal_rank(ranking),
        average_precision(ranking),
        ndcg(ranking, 1),
    ):
        assert values[0] == 1.0
        assert np.isnan(values[1])
        assert values.dtype == np.float64


def test_the_best_of_many_captions_counts():
    """Target -> text: a video with captions at ranks 3 and 2 has the best rank 2."""
    text_to_video = Relevance.from_index([0, 0, 1], gallery=2)
    ranking = rank(np.array([[0.2, 0.5, 0.9], [0.3, 0.2, 0.1]]), text_to_video.reverse())
    assert ranking.ranks.tolist() == [3.0, 2.0, 3.0]
    assert best_rank(ranking).tolist() == [2.0, 3.0]


def test_geometric_mean():
    assert geometric_mean([0.5, 0.8, 0.9]) == pytest.approx((0.5 * 0.8 * 0.9) ** (1 / 3))
    assert geometric_mean([0.0, 0.8, 0.9]) == 0.0
