"""Relevance: its constructors, its views, and what it says about bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhub.foundation.errors import InputError
from unhub.metrics import Relevance


def as_sets(relevance):
    return [
        set(relevance.targets[relevance.indptr[i] : relevance.indptr[i + 1]].tolist()) for i in range(relevance.queries)
    ]


sets_and_gallery = st.integers(1, 8).flatmap(
    lambda gallery: st.tuples(st.lists(st.sets(st.integers(0, gallery - 1)), min_size=1, max_size=8), st.just(gallery))
)


def test_an_index_is_one_target_per_query():
    relevance = Relevance.from_index([2, 0, 2], gallery=3)
    assert as_sets(relevance) == [{2}, {0}, {2}]
    assert relevance.queries == 3
    assert relevance.indptr.dtype == relevance.targets.dtype == np.int64


@given(sets_and_gallery)
@settings(deadline=None)
def test_sets_come_back_sorted_and_without_repeats(case):
    sets, gallery = case
    doubled = [[*items, *items] for items in sets]
    relevance = Relevance.from_sets(doubled, gallery, allow_empty=True)
    assert as_sets(relevance) == sets
    assert relevance.counts.tolist() == [len(items) for items in sets]
    assert relevance.judged().tolist() == [bool(items) for items in sets]
    for i in range(relevance.queries):
        own = relevance.targets[relevance.indptr[i] : relevance.indptr[i + 1]].tolist()
        assert own == sorted(own)


@given(sets_and_gallery)
@settings(deadline=None)
def test_reverse_turns_every_pair_around_and_back(case):
    sets, gallery = case
    relevance = Relevance.from_sets(sets, gallery, allow_empty=True)
    there = relevance.reverse()
    assert as_sets(there) == [{i for i, items in enumerate(sets) if j in items} for j in range(gallery)]
    assert there.gallery == len(sets)
    assert as_sets(there.reverse()) == sets


@given(sets_and_gallery, st.data())
@settings(deadline=None)
def test_rows_picks_queries_in_the_order_asked(case, data):
    sets, gallery = case
    relevance = Relevance.from_sets(sets, gallery, allow_empty=True)
    chosen = data.draw(st.lists(st.integers(0, len(sets) - 1)))
    assert as_sets(relevance.rows(np.array(chosen, dtype=int))) == [sets[i] for i in chosen]
    assert as_sets(relevance.rows(slice(1, None, 2))) == sets[1::2]
    assert as_sets(relevance.rows(relevance.judged())) == [items for items in sets if items]


def test_pairs_keep_their_gains_through_sorting_and_reversing():
    relevance = Relevance.from_pairs([1, 0, 1], [2, 1, 0], queries=2, gallery=3, gains=[3, 1, 2])
    assert relevance.targets.tolist() == [1, 0, 2]
    assert relevance.gains.tolist() == [1, 2, 3]
    assert relevance.reverse().gains.tolist() == [2, 1, 3]


def test_a_gain_of_zero_is_not_relevant():
    relevance = Relevance.from_pairs([0, 0], [0, 1], queries=1, gallery=2, gains=[0, 1])
    assert as_sets(relevance) == [{1}]


def test_a_repeated_pair_counts_once():
    assert Relevance.from_pairs([0, 0], [1, 1], queries=1, gallery=2).counts.tolist() == [1]


def test_equal_labels_are_relevant():
    relevance = Relevance.from_labels(["cat", "dog", "cat"], ["dog", "cat", "cat", "cow"])
    assert as_sets(relevance) == [{1, 2}, {0}, {1, 2}]
    assert relevance.gallery == 4


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.lists(st.integers(0, 3), min_size=1, max_size=9))
@settings(deadline=None)
def test_labels_match_a_double_loop(own, others):
    relevance = Relevance.from_labels(own, others, allow_empty=True)
    assert as_sets(relevance) == [{j for j, b in enumerate(others) if a == b} for a in own]


def test_without_self_drops_the_diagonal_only():
    relevance = Relevance.from_labels([0, 0, 1], [0, 0, 1]).without_self()
    assert as_sets(relevance) == [{1}, {0}, set()]


def test_groups_of_captions():
    captions = Relevance.from_sets([{0, 3}, {1, 4}], gallery=6)
    groups = captions.groups()
    assert groups.tolist() == [0, 1, 2, 0, 1, 3]  # targets 2 and 5 belong to no query: alone
    assert as_sets(captions.grouped(groups)) == [{0}, {1}]
    assert captions.grouped(groups).gallery == 4


def test_two_queries_may_share_a_whole_group():
    assert Relevance.from_sets([{0, 1}, {2}, {0, 1}], gallery=3).groups().tolist() == [0, 0, 1]


def test_a_group_has_the_gain_of_its_best_target():
    relevance = Relevance.from_pairs([0, 0], [0, 1], queries=1, gallery=2, gains=[1, 3])
    assert relevance.grouped(relevance.groups()).gains.tolist() == [3]


def test_clusters_join_the_queries_of_one_target():
    relevance = Relevance.from_sets([{1}, {1}, {0}, set()], gallery=2, allow_empty=True)
    assert len(set(relevance.clusters().tolist())) == 3
    assert relevance.clusters()[0] == relevance.clusters()[1]


ERRORS = {
    "out of range": (
        lambda: Relevance.from_index([0, 7, 1], gallery=5),
        "relevant names target 7 for query 1, but the gallery has 5 targets, numbered 0 to 4",
    ),
    "1-based": (
        lambda: Relevance.from_index([1, 2, 3], gallery=3),
        "relevant names target 3 for query 2, but the gallery has 3 targets, numbered 0 to 2; "
        "this looks 1-based: subtract 1",
    ),
    "1-based sets": (
        lambda: Relevance.from_sets([{1, 2}, {3}], gallery=3),
        "relevant names target 3 for query 1, but the gallery has 3 targets, numbered 0 to 2; "
        "this looks 1-based: subtract 1",
    ),
    "negative": (
        lambda: Relevance.from_index([0, -1], gallery=5),
        "relevant names target -1 for query 1, which is negative; targets are counted from 0",
    ),
    "length": (
        lambda: Relevance.from_index([0, 1], gallery=5, queries=3),
        "relevant has 2 entries but there are 3 queries; give one for each query",
    ),
    "length of sets": (
        lambda: Relevance.from_sets([{0}, {1}], gallery=5, queries=3),
        "relevant has 2 entries but there are 3 queries; give one for each query",
    ),
    "empty": (
        lambda: Relevance.from_sets([{0}, set(), {1}, ()], gallery=5),
        "2 of 4 queries have no relevant target (query 1, 3); give each at least one, "
        "leave these queries out, or pass allow_empty=True",
    ),
    "many empty": (
        lambda: Relevance.from_pairs([0], [0], queries=9, gallery=5),
        "8 of 9 queries have no relevant target (query 1, 2, 3, 4, 5 and 3 more); give each at least one, "
        "leave these queries out, or pass allow_empty=True",
    ),
    "label of nobody": (
        lambda: Relevance.from_labels([1, 2], [1, 1]),
        "1 of 2 queries have no relevant target (query 1); give each at least one, leave these queries out, "
        "or pass allow_empty=True",
    ),
    "not whole": (
        lambda: Relevance.from_index([0.5, 1.0], gallery=5),
        "relevant must hold whole numbers, rows counted from 0, but came as float64 (first value: 0.5); "
        "convert it with .astype(int) if they are whole",
    ),
    "booleans": (
        lambda: Relevance.from_index([True, False], gallery=5),
        "relevant must hold whole numbers, rows counted from 0, but came as bool (first value: True); "
        "convert it with .astype(int) if they are whole",
    ),
    "matrix": (
        lambda: Relevance.from_index([[0, 1], [1, 0]], gallery=5),
        "relevant must be a flat list of row numbers, but has shape (2, 2)",
    ),
    "ragged": (
        lambda: Relevance.from_index([[0, 1], [1]], gallery=5),
        "relevant must be a flat list of row numbers, but its items differ in length",
    ),
    "a number among the sets": (
        lambda: Relevance.from_sets([{0}, 3], gallery=5),
        "relevant[1] is 3, not a set of target rows",
    ),
    "pairs of two lengths": (
        lambda: Relevance.from_pairs([0, 1], [0], queries=2, gallery=5),
        "query_rows, target_rows and gains must be equally long, but have 2, 1 and 2 entries",
    ),
    "query out of range": (
        lambda: Relevance.from_pairs([0, 2], [0, 1], queries=2, gallery=5),
        "relevant names query 2, but there are 2 queries, counted from 0",
    ),
    "negative gain": (
        lambda: Relevance.from_pairs([0], [0], queries=1, gallery=5, gains=[-1]),
        "gains[0] is -1; a gain is a finite number, 0 or more",
    ),
    "two gains": (
        lambda: Relevance.from_pairs([0, 0], [4, 4], queries=1, gallery=5, gains=[1, 2]),
        "the pair of query 0 and target 4 comes with two gains, 1 and 2; keep one",
    ),
    "labels of two kinds": (
        lambda: Relevance.from_labels(["1"], [1]),
        "query labels are <U1 and target labels are int64; give both as text or both as numbers",
    ),
    "label matrix": (
        lambda: Relevance.from_labels([[1]], [1]),
        "labels must be flat, one for each item, but have shapes (1, 1) and (1,)",
    ),
    "no groups": (
        lambda: Relevance.from_sets([{0, 1}, {2}, {1, 3}], gallery=4).groups(),
        "target 1 is relevant to query 0 and query 2, whose other targets differ, "
        "so the targets do not form groups; rank them one by one",
    ),
    "a subset is no group": (
        lambda: Relevance.from_sets([{0, 1}, {1}], gallery=2).groups(),
        "target 1 is relevant to query 0 and query 1, whose other targets differ, "
        "so the targets do not form groups; rank them one by one",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_sentences(case):
    attempt, sentence = ERRORS[case]
    with pytest.raises(InputError) as raised:
        attempt()
    assert str(raised.value) == f"{sentence}."
