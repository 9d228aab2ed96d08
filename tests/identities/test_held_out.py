"""Biases without some bank queries, which share each read of the scores, are those of fits without these queries."""

from dataclasses import replace

import numpy as np
import pytest
from reference.problems import unit_vectors

from unhub.core.execution import Execution
from unhub.dataset import Dataset
from unhub.methods import additive, resolve
from unhub.methods import method as method_by_name
from unhub.methods.strength import LARGE, held_out_parts, held_out_slice
from unhub.scores import without
from unhub.solvers.sinkhorn import ENOUGH_ROWS

METHODS = ("is", "sn", "capped_sn", "dbsn", "nnn", "csls", "dn", "dualis")
SINKHORN = ("sn", "capped_sn", "dbsn")
EXACT = 1e-4
"""of the standard deviation of the bias: float32 sums in another order"""
FEW_ROUNDS = 0.03
"""the same after a few rounds from the potentials of the whole bank, for large banks"""

HALVES = 0.002
"""the same where a kernel of either may be kept in 16 bits"""

by_method = pytest.mark.parametrize("name", METHODS)


def banks_of(rows, gallery=60, *, arrays=lambda name, array: array, **options):
    rng = np.random.default_rng(4)
    sizes = {"targets": gallery, "query_bank": rows, "target_bank": 30}
    given = {name: arrays(name, unit_vectors(rng, size, 16)) for name, size in sizes.items()}
    data = Dataset(**given, **options)
    return data.task("forward", data.bank_name(None), fit=True).banks


def mixed(rows):
    return held_out_parts(np.random.default_rng(0).random(rows))


def chosen(name, banks, **settings):
    if name in ("nnn", "csls"):
        settings = {"k": 8}
    return additive(resolve(method_by_name(name, settings), banks.queries, None).method)


def check(name, banks, parts=None, tolerance=EXACT, **settings):
    parts = mixed(banks.queries.shape[0]) if parts is None else parts
    method = chosen(name, banks, **settings)
    found = method.estimate(replace(banks, held_out=parts)).held_out
    assert len(found) == len(parts)
    for bias, rows in zip(found, parts, strict=True):
        expected = method.estimate(without(banks, rows)).values
        np.testing.assert_allclose(bias, expected, atol=tolerance * expected.std(), rtol=0)


@by_method
def test_five_parts_of_a_small_bank(name):
    check(name, banks_of(130))


@by_method
def test_compiled_kernels(name):
    banks = banks_of(130)
    check(name, replace(banks, execution=Execution(compiled=True, threads=2)))


@by_method
def test_streamed_in_small_blocks(name):
    banks = banks_of(130, memory="20kB")
    check(name, banks)
    check(name, replace(banks, execution=replace(banks.execution, compiled=True)), tolerance=HALVES)


@by_method
def test_a_memory_map(name, tmp_path):
    def mapped(part, array):
        np.save(tmp_path / f"{part}.npy", array)
        return np.load(tmp_path / f"{part}.npy", mmap_mode="r")

    check(name, banks_of(130, arrays=mapped))


@by_method
def test_tensors(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    check(name, banks_of(130, arrays=lambda part, array: torch.from_numpy(array)))


@pytest.mark.parametrize("name", ["is", "sn", "dbsn", "nnn", "csls", "dn"])
def test_query_weights(name):
    check(name, banks_of(130, query_weight=np.random.default_rng(1).uniform(0.5, 2, 130)))


@pytest.mark.parametrize("name", ["is", "sn", "dbsn"])
def test_a_target_prior(name):
    check(name, banks_of(130, target_prior=np.random.default_rng(1).uniform(0.5, 2, 60)))


@pytest.mark.parametrize("compiled", [None, True])
@pytest.mark.parametrize("name", SINKHORN)
def test_a_tau_so_small_that_the_log_domain_takes_over(name, compiled):
    banks = banks_of(130)
    banks = replace(banks, execution=Execution(compiled=compiled))
    method = chosen(name, banks, tau=1e-4)
    assert "log domain" in str(method.estimate(banks).plan)
    check(name, banks, tau=1e-4)


def test_a_kernel_in_16_bits():
    banks = banks_of(500, gallery=200)
    banks = replace(banks, execution=Execution(compiled=True, memory=350_000))
    assert "16 bits" in str(chosen("sn", banks).estimate(banks).plan)
    check("sn", banks, tolerance=HALVES)


def test_shards():
    from unhub.executors import Threads

    for name in METHODS:
        banks = banks_of(130)
        check(name, replace(banks, execution=replace(banks.execution, executor=Threads(3))))


@by_method
def test_one_slice_of_a_large_bank(name):
    parts = held_out_slice(LARGE)
    assert len(parts) == 1
    check(name, banks_of(LARGE), parts, FEW_ROUNDS if name in SINKHORN else EXACT)


@pytest.mark.parametrize("name", SINKHORN)
def test_a_bank_that_is_not_large_has_all_rounds(name):
    check(name, banks_of(1200))


@pytest.mark.parametrize("name", SINKHORN)
@pytest.mark.parametrize("tau", [0.005, 0.0005])
def test_a_large_bank_has_all_rounds_where_few_would_remember_the_rows_left_out(name, tau):
    check(name, banks_of(ENOUGH_ROWS), mixed(ENOUGH_ROWS), tau=tau)


@by_method
def test_the_bias_of_the_whole_bank_is_the_same(name):
    banks = banks_of(130)
    method = chosen(name, banks)
    alone, beside = method.estimate(banks), method.estimate(replace(banks, held_out=mixed(130)))
    np.testing.assert_allclose(beside.values, alone.values, atol=1e-6, rtol=0)


def test_each_score_is_computed_once(monkeypatch):
    from unhub.scores.embedding import EmbeddingScores

    read = []
    products = EmbeddingScores.read

    def counted(self, start, stop, out=None):
        read.append(stop - start)
        return products(self, start, stop, out)

    banks = banks_of(130)
    monkeypatch.setattr(EmbeddingScores, "read", counted)
    for name in ("nnn", "csls", "dn"):
        read.clear()
        chosen(name, banks).estimate(replace(banks, held_out=mixed(130)))
        assert sum(read) == 130
