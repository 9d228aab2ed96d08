"""Copies of vectors: rounded, moved a little, in crowds; and vectors that only look alike."""

import numpy as np
import pytest

from unhub.core.near_copies import NEAR, first_copies, shared_rows

COUNT, DIM = 600, 96


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(COUNT, DIM)) + 2 * rng.normal(size=DIM)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def eight_bits(x):
    step = np.abs(x).max(axis=1, keepdims=True) / 127
    return (np.round(x / step) * step).astype(np.float32)


def apart(x, distance, seed=0):
    moved = np.random.default_rng(seed).normal(size=x.shape)
    return (x + distance * moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


ROUNDED = {
    "half precision": lambda x: x.astype(np.float16),
    "eight bits": eight_bits,
    "eight bits and another length": lambda x: 7 * eight_bits(x),
    "a cosine above .9999": lambda x: apart(x, 0.7 * NEAR),
}


@pytest.mark.parametrize("rounded", ROUNDED.values(), ids=ROUNDED)
def test_copies_are_found(vectors, rounded):
    copies = rounded(vectors[100:300])
    place = first_copies(np.concatenate((vectors, copies)), unit=True)
    np.testing.assert_array_equal(place, [*range(COUNT), *range(100, 300)])
    np.testing.assert_array_equal(shared_rows(vectors, copies, unit=True), np.arange(100, 300))


def test_different_vectors_are_no_copies(vectors):
    others = apart(vectors, 4 * NEAR)
    assert np.array_equal(first_copies(np.concatenate((vectors, others)), unit=True), np.arange(2 * COUNT))
    assert shared_rows(vectors, others, unit=True).size == 0


def test_a_crowd_has_one_first_row(vectors):
    crowd = apart(np.repeat(vectors[:1], 3000, axis=0), 0.3 * NEAR)
    mixed = np.concatenate((vectors, crowd))
    place = first_copies(mixed, unit=True)
    assert (place[COUNT:] == 0).all()
    assert np.array_equal(place[:COUNT], np.arange(COUNT))
    assert shared_rows(vectors, crowd, unit=True).tolist() == [0]
    assert shared_rows(crowd, vectors, unit=True).size == 3000


def test_lengths_count_where_they_rank(vectors):
    assert shared_rows(2 * vectors, vectors).size == 0
    assert shared_rows(vectors.astype(np.float16), vectors).size == COUNT


def test_rows_of_scores_are_copies_up_to_rounding(vectors):
    scores = vectors @ vectors[:50].T
    both = np.concatenate((scores, scores[:40].astype(np.float16)))
    assert first_copies(both, unit=False)[COUNT:].tolist() == list(range(40))
    assert first_copies(scores - 100, unit=False).tolist() == list(range(COUNT))  # a constant in all of them


def test_short_vectors_are_often_close_by_chance():
    angles = np.linspace(0, 2 * np.pi, 5000)
    circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)[:-1].astype(np.float32)
    assert np.array_equal(first_copies(circle, unit=True), np.arange(len(circle)))


def test_the_order_of_the_others_changes_nothing(vectors):
    copies, order = eight_bits(vectors), np.random.default_rng(0).permutation(COUNT)
    assert np.array_equal(shared_rows(vectors[:50], copies[order], unit=True), np.arange(50))


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (3, 1)])
def test_next_to_nothing(shape):
    rows = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
    assert first_copies(rows, unit=False).tolist() == list(range(shape[0]))
    assert shared_rows(rows, rows[:0]).size == 0
    assert shared_rows(rows, rows).size == shape[0]


def test_one_number_that_is_large_in_every_row_makes_no_copies():
    """As in embeddings of some language models: rounding to 8 bits would move such rows far."""
    rows = np.random.default_rng(3).normal(size=(600, 128)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for size in (5, 10):
        wide = np.concatenate((rows, np.full((600, 1), size, np.float32)), axis=1)
        assert first_copies(wide, unit=True).tolist() == list(range(600))
