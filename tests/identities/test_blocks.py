"""Streamed is dense: whatever the blocks, and whether scores are given or computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.problems import unit_vectors

import unhub
from identities.at_full_strength import evaluate, fit, normalize
from identities.strategies import matrices, some_weights, vectors
from unhub.core.execution import Execution
from unhub.core.logsumexp import row_logsumexp
from unhub.scores import MatrixScores, SinkhornOperator, column_logsumexp

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ADDITIVE = ("none", "is", "dualis", "sn", "capped_sn", "dbsn", "nnn", "csls", "dn")
BY_ROW = ("dis", "gc", "single_sinkhorn", "local_scaling", "nicdm", "mutual_proximity", "centering")
CLOSE = 1e-5

methods = st.sampled_from(ADDITIVE)
little_memory = st.sampled_from((1, "1kB", "4kB", "20kB"))
"""blocks of one row, of a few, and of nearly all"""


@given(matrices(), methods, little_memory)
def test_streamed_is_dense(p, name, memory):
    dense = fit(name, **p.given(name))
    streamed = fit(name, **p.given(name), memory=memory)
    np.testing.assert_allclose(streamed.bias, dense.bias, atol=CLOSE)
    assert streamed.status == dense.status
    if dense.marginal_error is not None:
        assert streamed.marginal_error == pytest.approx(dense.marginal_error, abs=1e-4)


@given(vectors(), methods, little_memory)
def test_streamed_is_dense_on_embeddings(p, name, memory):
    dense = fit(name, **p.given(name))
    np.testing.assert_allclose(fit(name, **p.given(name), memory=memory).bias, dense.bias, atol=CLOSE)


@given(vectors(), methods)
def test_embeddings_are_their_matrix_of_scores(p, name):
    from_vectors, from_scores = fit(name, **p.given(name)), fit(name, **p.given_matrices(name))
    np.testing.assert_allclose(from_vectors.bias, from_scores.bias, atol=CLOSE)


@given(vectors(), st.sampled_from(("is", "sn", "dbsn", "nnn", "dn")), little_memory)
def test_streamed_is_dense_with_weights(p, name, memory):
    given = p.given(name) | {"query_weight": some_weights(p.rng, len(p.query_bank))}
    dense = fit(name, **given)
    np.testing.assert_allclose(fit(name, **given, memory=memory).bias, dense.bias, atol=CLOSE)


@given(vectors(), little_memory, st.integers(1, 30))
def test_search_in_blocks_finds_what_one_block_finds(p, memory, k):
    """The same bias, so that only the blocks of the search differ."""
    whole = fit("is", **p.given("is"))
    parts = fit("is", **p.given("is"), memory=memory)
    found, expected = parts.search(p.queries, k=k), whole.search(p.queries, k=k)
    assert found.ids.shape == (len(p.queries), min(k, len(p.targets)))
    np.testing.assert_allclose(found.scores, expected.scores, atol=CLOSE)


@given(matrices(), st.sampled_from(BY_ROW), little_memory)
def test_rows_are_corrected_alike_in_any_block(p, name, memory):
    given = {"scores": p.s, "query_bank_scores": p.s_bt}
    whole = normalize(name, **given)
    np.testing.assert_allclose(normalize(name, **given, memory=memory), whole, atol=CLOSE)


@given(matrices(), st.integers(1, 30), st.sampled_from((1, 1000, 1 << 20)))
def test_one_fused_pass_is_two_plain_ones(p, block, memory):
    """alpha needs only its own row, so the pass that finds it can sum the columns too."""
    bank = MatrixScores(p.s_bt, block_rows=block)
    a = some_weights(p.rng, len(p.s_bt))
    a /= a.sum()
    g = p.rng.normal(0, 0.1, p.s_bt.shape[1])
    f, columns = SinkhornOperator(bank, p.tau, a, Execution(memory=memory)).half_steps(g)
    plain_f = p.tau * np.log(a) - row_logsumexp(p.s_bt, p.tau, g)
    np.testing.assert_allclose(f, plain_f, atol=2e-6)
    np.testing.assert_allclose(columns, column_logsumexp(bank, p.tau, plain_f), atol=2e-6)


@pytest.mark.parametrize("memory", [None, "2kB"])
def test_embeddings_are_evaluated_as_their_scores_are(memory):
    """Every method but the transport plans, whose answer needs the whole matrix anyway."""
    rng = np.random.default_rng(4)
    queries, targets, query_bank, target_bank = (unit_vectors(rng, size, 12) for size in (40, 30, 50, 20))
    names = [name for name in unhub.METHODS if name not in ("otn", "l2n", "hn", "sparse_k")]
    given = {"relevant": rng.integers(0, 30, 40), "methods": names, "tau": 0.05, "resamples": 1}
    from_vectors = evaluate(
        queries=queries, targets=targets, query_bank=query_bank, target_bank=target_bank, memory=memory, **given
    )
    from_scores = evaluate(
        scores=queries @ targets.T,
        query_bank_scores=query_bank @ targets.T,
        cross_bank_scores=query_bank @ target_bank.T,
        target_bank_scores=target_bank @ targets.T,
        **given,
    )
    for name in names:
        for metric in ("R@1", "R@10", "MnR", "skew@10"):
            assert from_vectors[name][metric] == pytest.approx(from_scores[name][metric], abs=1e-9), (name, metric)
