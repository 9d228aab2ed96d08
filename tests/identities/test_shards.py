"""Any cut into shards and any order of merging gives what one shard gives."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.problems import scores, unit_vectors

from identities.at_full_strength import fit
from unhub.core.execution import Execution, merge_tree
from unhub.core.topk import merge_top, top_k
from unhub.executors import Inline, Threads
from unhub.scores import EmbeddingScores, MatrixScores, SinkhornOperator, fold, rows, search
from unhub.scores.folds import Activation, ColumnBest, ColumnLogSumExp, ColumnMoments, ColumnTotals, FoldShard
from unhub.scores.search import TopTargets
from unhub.scores.spread import SpreadSums

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ROWS, COLUMNS = 60, 40
S = scores(np.random.default_rng(3), ROWS, COLUMNS).astype(np.float32)
WEIGHT = np.random.default_rng(4).uniform(0.5, 2, ROWS)
BIAS = np.random.default_rng(5).normal(0, 0.1, COLUMNS)
BYTES = {"cached": 8, "cached in 16 bits": 4, "partly cached": 2, "streamed": 1}

FOLDS = {
    "log-sum-exp": ColumnLogSumExp(0.05),
    "log-sum-exp with potentials": ColumnLogSumExp(0.05, WEIGHT - 1),
    "moments": ColumnMoments(WEIGHT),
    "totals": ColumnTotals(WEIGHT),
    "column top": ColumnBest(7),
    "column top with weights": ColumnBest(7, WEIGHT),
    "activation": Activation(2),
    "search": TopTargets(BIAS, 5),
}

by_way = pytest.mark.parametrize("quick", [False, True], ids=["plain", "compiled"])
cuts = st.sets(st.integers(1, ROWS - 1), max_size=6).map(lambda inner: [0, *sorted(inner), ROWS])


def same(found, expected, **how):
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6, **how)


@by_way
@pytest.mark.parametrize("name", FOLDS)
@given(ends=cuts, data=st.data())
def test_any_cut_and_any_order_of_merging(name, quick, ends, data):
    by, source = FOLDS[name], MatrixScores(S, 7, 16)
    how = Execution(threads=2)
    quick = quick and "weights" not in name
    whole = by.finish(FoldShard(source, 0, by, quick, how).run())
    parts = [FoldShard(rows(source, a, b), a, by, quick, how).run() for a, b in pairwise(ends)]
    parts = [pickle.loads(pickle.dumps(part)) if data.draw(st.booleans()) else part for part in parts]
    while len(parts) > 1:  # neighbours or not, whoever comes first
        left = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        right = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts.append(by.merge(left, right))
    same(by.finish(parts[0]), whole)


@given(inner=st.sets(st.integers(1, COLUMNS - 1), max_size=5), k=st.integers(1, COLUMNS), ties=st.booleans())
def test_parts_of_a_gallery_merge_to_the_search_of_all(inner, k, ties):
    s, bias = (np.round(S, 1), np.zeros(COLUMNS)) if ties else (S, BIAS)
    ends = [0, *sorted(inner), COLUMNS]
    states = []
    for left, right in pairwise(ends):
        by = TopTargets(bias[left:right], min(k, right - left), offset=left)
        states.append(FoldShard(MatrixScores(s[:, left:right], 7), 0, by, False, Execution()).run())
    by = TopTargets(bias, k)
    values, columns = by.finish(merge_tree(by.merge, states[::-1]))
    expected = top_k(s + bias.astype(np.float32), k)
    np.testing.assert_array_equal(columns, expected[1])
    np.testing.assert_array_equal(values, expected[0])


@given(st.integers(1, 39), st.integers(1, 40))
def test_two_lists_merge_to_the_list_of_both(cut, k):
    halves = top_k(S[:, :cut], k), top_k(S[:, cut:], k)
    found = merge_top(*halves[0], halves[1][0], halves[1][1] + cut, k)
    np.testing.assert_array_equal(found[1], top_k(S, k)[1])


@given(cuts)
def test_the_spread_of_parts_is_the_spread_of_all(ends):
    parts = [SpreadSums.of(S[a:b]) for a, b in pairwise(ends)]
    found = merge_tree(SpreadSums.merge, parts[::-1]).finish()
    assert found.std == pytest.approx(S.std(dtype=np.float64), rel=1e-12)
    assert (found.low, found.high) == (S.min(), S.max())


@by_way
@pytest.mark.parametrize("executor", [Inline(1), Inline(3), Inline(7), Threads(2), Threads(5)], ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_every_executor_folds_alike(name, executor, quick):
    by, source = FOLDS[name], MatrixScores(S, 7, 16)
    one = fold(source, by, Execution(compiled=quick))
    same(fold(source, by, Execution(compiled=quick, threads=4, executor=executor)), one)


@by_way
@pytest.mark.parametrize("tau", [0.0005, 0.01, 10.0])
@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("executor", [Inline(1), Inline(2), Inline(7), Threads(3)], ids=str)
def test_every_executor_balances_alike(executor, kind, tau, quick):
    """Also where a kernel is renewed, where the log domain takes over, and in float64."""
    given = {"scores": S, "tau": tau, "memory": BYTES[kind] * S.size, "query_weight": WEIGHT}
    one = fit("sn", **given, executor=Execution(compiled=quick))
    many = fit("sn", **given, executor=Execution(compiled=quick, executor=executor))
    bound = 2 * (one.error_bound + many.error_bound)
    np.testing.assert_allclose(many.bias, one.bias, rtol=1e-6, atol=bound)
    assert (many.status, many.iterations, many.plan) == (one.status, one.iterations, one.plan)
    assert many.marginal_error == pytest.approx(one.marginal_error, abs=1e-3)
    if executor.shards == 1:
        np.testing.assert_array_equal(many.bias, one.bias)
        assert many.error_bound == one.error_bound


@settings(max_examples=20)
@given(count=st.integers(1, ROWS), memory=st.sampled_from(list(BYTES.values())))
def test_any_number_of_shards_takes_the_same_step(count, memory):
    a, g = WEIGHT / WEIGHT.sum(), np.random.default_rng(6).normal(0, 0.05, COLUMNS)
    one, many = (
        SinkhornOperator(MatrixScores(S, 7), 0.02, a, Execution(memory=memory * S.size, executor=each))
        for each in (None, Inline(count))
    )
    for _ in range(2):
        for found, expected in zip(many.half_steps(g), one.half_steps(g), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_shard_that_travels_begins_anew_and_steps_alike():
    class Travelling(Inline):
        """Sends every shard through a pickle, as another process would get it."""

        def start(self, shards):
            return super().start([pickle.loads(pickle.dumps(shard)) for shard in shards])

    a, g = WEIGHT / WEIGHT.sum(), np.zeros(COLUMNS)
    rng = np.random.default_rng(0)
    source = EmbeddingScores(unit_vectors(rng, ROWS, 8), unit_vectors(rng, COLUMNS, 8), 7)
    here, there = (
        SinkhornOperator(source, 0.02, a, Execution(executor=each)).half_steps(g) for each in (Inline(3), Travelling(3))
    )
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_of_an_array_travel_alone():
    source = EmbeddingScores(np.ones((1000, 8), dtype=np.float32), np.ones((5, 8), dtype=np.float32), 10)
    assert len(pickle.dumps(rows(source, 0, 10))) < len(pickle.dumps(source)) // 20


@pytest.mark.parametrize("executor", [None, Inline(3), Threads(2)], ids=str)
def test_a_search_over_shards_of_queries(executor):
    values, columns = search(MatrixScores(S, 7), BIAS, 5, Execution(executor=executor))
    expected = top_k(S + BIAS.astype(np.float32), 5)
    np.testing.assert_array_equal(columns, expected[1])
    np.testing.assert_array_equal(values, expected[0])
