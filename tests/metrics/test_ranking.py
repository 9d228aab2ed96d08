"""Ranks, tie policies and best targets, against literal loops and hand-made rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhub.foundation.errors import InputError
from unhub.metrics import TIES, Ranker, Relevance, best_rank, hit_rate, rank
from unhub.metrics.ranking import rank_counts

from . import literal

# Target 2 is relevant and has score 5: one target above, three with its score (0, 2 and 4), one below.
ROW = [5.0, 9.0, 5.0, 1.0, 5.0]


@pytest.mark.parametrize(
    ("ties", "expected"), [("average", 3.0), ("optimistic", 2.0), ("pessimistic", 4.0), ("index", 3.0)]
)
def test_tie_policies_on_one_row(ties, expected):
    ranking = rank(np.array([ROW]), Relevance.from_index([2], gallery=5), ties=ties)
    assert ranking.ranks.tolist() == [expected]
    assert ranking.shared.tolist() == [3]


def test_the_index_policy_puts_the_lower_index_first():
    ranking = rank(np.array([ROW]), Relevance.from_sets([{0, 2, 4}], gallery=5), ties="index")
    assert ranking.ranks.tolist() == [2.0, 3.0, 4.0]
    assert ranking.top.tolist() == [[1, 0, 2, 4, 3]]


def test_all_scores_equal_is_the_middle_not_the_top():
    ranking = rank(np.zeros((1, 9)), Relevance.from_index([0], gallery=9))
    assert ranking.ranks.tolist() == [5.0]
    assert hit_rate(ranking, 1).tolist() == [0.0]


def test_two_relevant_targets_tied_for_the_first_two_places_are_a_certain_hit():
    """Twice the same caption: whichever comes first, the answer is right."""
    ranking = rank(np.array([[1.0, 1.0, 0.5]]), Relevance.from_sets([{0, 1}], gallery=3))
    assert ranking.ranks.tolist() == [1.5, 1.5]
    assert best_rank(ranking).tolist() == [1.0]
    assert hit_rate(ranking, 1).tolist() == [1.0]


small_scores = st.integers(1, 5).flatmap(
    lambda queries: st.integers(1, 6).flatmap(
        lambda gallery: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, -np.inf]), min_size=gallery, max_size=gallery),
            min_size=queries,
            max_size=queries,
        )
    )
)


def draw_sets(data, queries, gallery):
    return data.draw(st.lists(st.sets(st.integers(0, gallery - 1)), min_size=queries, max_size=queries))


@given(small_scores, st.data(), st.sampled_from(list(TIES)))
@settings(deadline=None)
def test_ranks_match_the_literal_count_by_counting_and_by_sorting(scores, data, ties):
    sets = draw_sets(data, len(scores), len(scores[0]))
    relevance = Relevance.from_sets(sets, len(scores[0]), allow_empty=True)
    matrix = np.array(scores, dtype=np.float32)
    ranking = rank(matrix, relevance, ties=ties)
    counted, ordered = (rank_counts(matrix, relevance.indptr, relevance.targets, few=few) for few in (9, 0))
    np.testing.assert_array_equal(counted, ordered)
    expected = [literal.ordinary_rank(scores[i], j, ties) for i, items in enumerate(sets) for j in sorted(items)]
    assert ranking.ranks.tolist() == expected
    for row, top in zip(scores, ranking.top.tolist(), strict=True):
        assert top == sorted(range(len(row)), key=lambda j: (-row[j], j))[:10]


@given(small_scores, st.data(), st.sampled_from(list(TIES)), st.integers(1, 7))
@settings(deadline=None)
def test_ignore_self_leaves_the_query_out_everywhere(scores, data, ties, depth):
    size = min(len(scores), len(scores[0]))
    gallery = len(scores[0])
    scores = scores[:size]
    sets = draw_sets(data, size, gallery)
    relevance = Relevance.from_sets(sets, gallery, allow_empty=True)
    ranking = rank(np.array(scores), relevance, ties=ties, depth=depth, ignore_self=True)
    expected = [
        literal.ordinary_rank(scores[i], j, ties, left_out=i)
        for i, items in enumerate(sets)
        for j in sorted(items - {i})
    ]
    assert ranking.ranks.tolist() == expected
    assert ranking.relevance.counts.tolist() == [len(items - {i}) for i, items in enumerate(sets)]
    for i, top in enumerate(ranking.top.tolist()):
        others = [j for j in range(gallery) if j != i]
        assert top == sorted(others, key=lambda j: (-scores[i][j], j))[:depth]


@given(st.integers(1, 12), st.sampled_from(list(TIES)), st.booleans(), st.booleans(), st.integers(0, 99))
@settings(deadline=None)
def test_the_block_size_changes_nothing(block, ties, ignore_self, several, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, size=(11, 13)).astype(np.float32)
    sets = [rng.choice(13, size=rng.integers(1, 9 if several else 2), replace=False).tolist() for _ in range(11)]
    relevance = Relevance.from_sets(sets, 13)
    ranker = Ranker(relevance, ties=ties, depth=4, ignore_self=ignore_self)
    for start in reversed(range(0, 11, block)):  # in any order
        ranker.add(start, scores[start : start + block])
    blocked, whole = ranker.result(), rank(scores, relevance, ties=ties, depth=4, ignore_self=ignore_self)
    np.testing.assert_array_equal(blocked.ranks, whole.ranks)
    np.testing.assert_array_equal(blocked.shared, whole.shared)
    np.testing.assert_array_equal(blocked.top, whole.top)


@given(st.integers(0, 99))
@settings(deadline=None)
def test_groups_rank_by_the_best_score_of_each_group(seed):
    rng = np.random.default_rng(seed)
    captions = rng.permutation(np.repeat(np.arange(4), 3))  # the image of each of 12 captions, not in order
    scores = rng.integers(0, 6, size=(4, 12)).astype(np.float64)
    relevance = Relevance.from_index(captions, gallery=4).reverse()
    groups = relevance.groups()
    ranking = rank(scores, relevance.grouped(groups), groups=groups)
    best = np.array([[max(row[captions == image]) for image in range(4)] for row in scores])
    assert ranking.ranks.tolist() == rank(best, Relevance.from_index(range(4), gallery=4)).ranks.tolist()
    assert ranking.top.tolist() == rank(best, Relevance.from_index(range(4), gallery=4)).top.tolist()
    assert ranking.gallery == 4


def test_the_scores_are_left_as_they_were():
    scores = np.random.default_rng(0).normal(size=(6, 6))
    before = scores.copy()
    scores.flags.writeable = False
    for options in ({}, {"ignore_self": True}, {"groups": np.arange(6)}):
        rank(scores, Relevance.from_index(range(6), gallery=6), **options)
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_any_number_type_ranks(dtype):
    scores = np.array([[3, 1, 2]], dtype=dtype)
    assert rank(scores, Relevance.from_index([2], gallery=3)).ranks.tolist() == [2.0]


def test_minus_infinity_is_last_and_ties_with_itself():
    scores = np.array([[-np.inf, 0.0, -np.inf]])
    assert rank(scores, Relevance.from_index([2], gallery=3)).ranks.tolist() == [2.5]


def test_depth_is_clipped_to_the_gallery():
    ranking = rank(np.zeros((2, 3)), Relevance.from_index([0, 1], gallery=3), depth=50)
    assert ranking.top.shape == (2, 3)


def relevance(queries=3, gallery=4):
    return Relevance.from_index([0] * queries, gallery=gallery)


NAN = np.where(np.eye(3, 4, k=1, dtype=bool), np.nan, 0.0)
NAN[0] = 0

ERRORS = {
    "policy": (
        lambda: Ranker(relevance(), ties="mean"),
        "ties is 'mean', which is not a tie policy; choose one of average, optimistic, pessimistic, index",
    ),
    "columns": (
        lambda: rank(np.zeros((3, 5)), relevance()),
        "scores has shape (3, 5); expected (query, gallery) with 4 columns",
    ),
    "queries": (
        lambda: rank(np.zeros((2, 4)), relevance()),
        "scores has shape (2, 4) but the relevance has 3 queries",
    ),
    "place": (
        lambda: Ranker(relevance()).add(2, np.zeros((2, 4))),
        "scores has 2 rows from query 2 on, but there are 3 queries",
    ),
    "nan": (lambda: rank(NAN, relevance()), "scores has NaN in 2 rows (query 1, 2)"),
    "nan in a later block": (
        lambda: Ranker(relevance()).add(1, NAN[1:2]),
        "scores has NaN in 1 rows (query 1)",
    ),
    "missing rows": (
        lambda: Ranker(relevance()).result(),
        "the scores of 3 queries were never added (query 0, 1, 2)",
    ),
    "depth": (lambda: Ranker(relevance(), depth=0), "depth is 0; keep at least 1 target for each query"),
    "self and groups": (
        lambda: Ranker(relevance(), ignore_self=True, groups=[0, 1, 2, 3]),
        "ignore_self cannot go with groups; a group is not one of the queries",
    ),
    "self outside": (
        lambda: Ranker(relevance(queries=5), ignore_self=True),
        "ignore_self needs every query in the gallery, but there are 5 queries and 4 targets",
    ),
    "gap in groups": (
        lambda: Ranker(relevance(), groups=[0, 2, 2]),
        "groups must number the groups 0, 1, 2, .. without a gap, one number for each target",
    ),
    "other groups": (
        lambda: Ranker(relevance(), groups=[0, 1, 1]),
        "groups has 2 groups but the relevance has 4; make it with relevance.grouped(groups)",
    ),
    "empty gallery": (
        lambda: Ranker(Relevance.from_sets([()], 0, allow_empty=True)),
        "the gallery is empty; there is nothing to rank",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_sentences(case):
    attempt, sentence = ERRORS[case]
    with pytest.raises(InputError) as raised:
        attempt()
    assert str(raised.value) == f"{sentence}."
