"""A small retrieval problem with known answers, for every store."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Unit vectors with hubs, ids that are not in order, groups to filter by, and a bias that changes the ranking."""

    vectors: np.ndarray
    queries: np.ndarray
    bias: np.ndarray
    groups: np.ndarray
    ids: list

    @classmethod
    def make(cls, *, count, dim, queries, seed=7):
        rng = np.random.default_rng(seed)
        vectors = rng.standard_normal((count, dim)).astype(np.float32)
        vectors[: count // 10] += 0.8
        asked = rng.standard_normal((queries, dim)).astype(np.float32) + np.float32(0.4)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        asked /= np.linalg.norm(asked, axis=1, keepdims=True)
        bias = (-0.5 * vectors.mean(axis=1) * dim**0.5 + 0.02 * rng.standard_normal(count)).astype(np.float32)
        ids = [str(each) for each in rng.permutation(10 * count)[:count]]
        return cls(vectors, asked, bias - bias.mean(), rng.integers(0, 4, count), ids)

    @cached_property
    def row(self):
        return {each: row for row, each in enumerate(self.ids)}

    def inner(self):
        return self.queries.astype(np.float64) @ self.vectors.T.astype(np.float64)

    def similarities(self, metric):
        if metric != "l2":
            return self.inner()
        return -np.square(self.queries[:, None].astype(np.float64) - self.vectors[None]).sum(axis=2)


def best(scores, k):
    """The k best columns of each row, best first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def identical(found, ids, scores, k, tolerance):
    """Asserts that the lists of ids are those of exact search; only items that tie to rounding may change places."""
    row = {each: at for at, each in enumerate(ids)}
    rows = np.array([[row[str(each)] for each in line] for line in found])
    assert all(len(set(line)) == len(line) for line in rows.tolist())
    expected = np.take_along_axis(scores, best(scores, k), 1)
    np.testing.assert_allclose(np.take_along_axis(scores, rows, 1), expected, rtol=0, atol=2 * tolerance)


def overlap(found, expected):
    """The share of the expected columns that were found, over all rows."""
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), expected.tolist(), strict=True)])
