"""Compiled kernels give what the plain formulas give in float64."""

import subprocess
import sys

import numpy as np
import pytest

from unhub.core.execution import Demand, Execution
from unhub.core.logsumexp import LOG2_E, NOTHING_YET, ColumnSums
from unhub.core.sinkhorn_kernel import SinkhornKernel
from unhub.core.topk import top_k
from unhub.scores import EmbeddingScores, MatrixScores, column_top, search
from unhub.scores.column_top import ColumnTop

kernels = pytest.importorskip("unhub.core.compiled", reason="numba does not know this interpreter")

TAU = 0.05
SCALE = np.float32(LOG2_E / TAU)

EXPONENTIAL = 3e-7
"""the relative error of a power of two"""

CLOSE = 5e-6
"""of a sum of such powers: scores that are rounded in the 24th bit are divided by tau first"""

HALF = 2.0**-11
"""the relative error of a number in 16 bits"""

SHAPES = [(1, 1), (1, 9), (5, 1), (3, 8), (40, 65), (130, 200)]

by_shape = pytest.mark.parametrize(("rows", "columns"), SHAPES)


class Block:
    """A block of scores with potentials, column scalings and row masses, and the answers in float64."""

    def __init__(self, rows, columns, *, masked=False):
        rng = np.random.default_rng([rows, columns])
        self.scores = rng.normal(0.2, 0.1, (rows, columns)).astype(np.float32)
        if masked:
            self.scores[rng.random((rows, columns)) < 0.2] = -np.inf
            self.scores[0] = -np.inf
        self.p = rng.normal(0, 0.05, columns).astype(np.float32)
        self.v = rng.uniform(0.1, 1, columns).astype(np.float32)
        self.a = rng.uniform(0.5, 2, rows).astype(np.float32)
        x = self.scores.astype(np.float64) + self.p
        self.dead = np.isneginf(x).all(axis=1)
        self.tops = np.where(self.dead, 0, x.max(axis=1))
        self.kernel = np.exp((x - self.tops[:, None]) / TAU)
        self.z, self.mass = self.products(self.kernel)

    def products(self, kernel):
        z = kernel.astype(np.float64) @ self.v
        return z, np.divide(self.a, z, out=np.zeros_like(z), where=z > 0) @ kernel

    def run(self, kernel, *more):
        """Calls a kernel that begins with the scores; (top, z, mass)."""
        rows, columns = self.scores.shape
        top, z = np.full(rows, np.nan, dtype=np.float32), np.full(rows, np.nan, dtype=np.float32)
        mass, row = np.zeros(columns, dtype=np.float32), np.full(columns, np.nan, dtype=np.float32)
        scratch = () if kernel is kernels.keep_floats else (row,)
        kernel(self.scores, self.p, SCALE, self.v, self.a, top, z, mass, *scratch, *more)
        return top, z, mass

    def agrees(self, top, z, mass):
        np.testing.assert_allclose(top[~self.dead], self.tops[~self.dead], atol=1e-7)
        np.testing.assert_allclose(z, self.z, rtol=CLOSE)
        np.testing.assert_allclose(mass, self.mass, rtol=CLOSE, atol=1e-30)


def powers_of_two(x):
    """2^x of numbers up to zero, by the kernel of one row whose largest score is zero."""
    scores = np.concatenate(([0.0], x)).astype(np.float32)[None]
    width = scores.shape[1]
    ones, zeros, one = np.ones(width, np.float32), np.zeros(width, np.float32), np.ones(1, np.float32)
    out = np.empty_like(scores)
    kernels.keep_floats(scores, zeros, np.float32(1), ones, one, one.copy(), one.copy(), zeros.copy(), out)
    return out[0, 1:]


def in_floats(halves):
    """What 16 bits stand for: no sign, 6 bits of exponent that end at 1, 10 of fraction; nothing for nothing."""
    bits = (halves.astype(np.int32) << kernels.HALF_SHIFT) + kernels.HALF_BASE
    return np.where(halves > 0, bits.view(np.float32), np.float32(0))


def test_the_exponential():
    rng = np.random.default_rng(0)
    x = np.concatenate((-np.arange(127.0), -rng.uniform(0, 126, 20_000), -(2.0 ** np.arange(-30, 7, 0.25))))
    x = np.maximum(x, -126).astype(np.float32)
    exact = 2.0 ** x.astype(np.float64)
    assert (np.abs(powers_of_two(x) - exact) / exact).max() <= EXPONENTIAL


def test_the_exponential_ends_where_normal_numbers_end():
    smallest = powers_of_two(np.array([-126.0, -126.5, -200.0, -1e30, -np.inf]))
    np.testing.assert_allclose(smallest, 2.0**-126, rtol=EXPONENTIAL)


@pytest.mark.parametrize("masked", [False, True])
@by_shape
def test_both_half_steps_from_scores(rows, columns, masked):
    block = Block(rows, columns, masked=masked)
    block.agrees(*block.run(kernels.pass_scores))


@pytest.mark.parametrize("masked", [False, True])
@by_shape
def test_a_kernel_kept_as_floats(rows, columns, masked):
    block = Block(rows, columns, masked=masked)
    out = np.full((rows, columns), np.nan, dtype=np.float32)
    block.agrees(*block.run(kernels.keep_floats, out))
    np.testing.assert_allclose(out, block.kernel, rtol=CLOSE, atol=1e-30)


@pytest.mark.parametrize("masked", [False, True])
@by_shape
def test_a_kernel_kept_in_place_of_its_scores(rows, columns, masked):
    block = Block(rows, columns, masked=masked)
    apart = np.empty_like(block.scores)
    expected = block.run(kernels.keep_floats, apart)
    found = block.run(kernels.keep_floats, block.scores)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(block.scores, apart)


@pytest.mark.parametrize("masked", [False, True])
@by_shape
def test_both_half_steps_from_kept_floats(rows, columns, masked):
    block = Block(rows, columns, masked=masked)
    z, mass = np.full(rows, np.nan, dtype=np.float32), np.zeros(columns, dtype=np.float32)
    kernels.pass_kept(block.kernel.astype(np.float32), block.v, block.a, z, mass)
    block.agrees(block.tops, z, mass)


def test_no_rows_add_nothing():
    mass = np.zeros(4, dtype=np.float32)
    none = np.empty(0, dtype=np.float32)
    kernels.pass_kept(np.empty((0, 4), dtype=np.float32), np.ones(4, dtype=np.float32), none, none, mass)
    assert not mass.any()


@by_shape
def test_a_kernel_kept_in_16_bits(rows, columns):
    block = Block(rows, columns)
    floats, halves = np.empty_like(block.scores), np.empty((rows, columns), dtype=np.uint16)
    block.run(kernels.keep_floats, floats)
    block.agrees(*block.run(kernels.keep_halves, halves))
    large = floats > 2.0**-62
    error = np.abs(in_floats(halves) - floats.astype(np.float64)) / floats
    assert error[large].max() <= HALF
    assert not np.array_equal(in_floats(halves), floats) or floats.size < 10, "16 bits cannot hold them all"


def test_16_bits_hold_nothing_below_two_to_the_minus_63():
    """The widest row: powers of two with fractions between, from one down to the smallest."""
    x = -np.linspace(0, 80, 8001)[None].astype(np.float32)
    columns = x.shape[1]
    halves, floats = np.empty((1, columns), dtype=np.uint16), np.empty_like(x)
    zeros, ones, one = np.zeros(columns, np.float32), np.ones(columns, np.float32), np.ones(1, np.float32)
    given = x, zeros, np.float32(1), ones, one, one.copy(), one.copy(), zeros.copy()
    kernels.keep_halves(*given, zeros.copy(), halves)
    kernels.keep_floats(*given, floats)
    kept = in_floats(halves)[0]
    exact = floats[0].astype(np.float64)
    above = exact > 2.0**-63 * (1 + HALF)
    assert (np.abs(kept - exact) / exact)[above].max() <= HALF
    assert not kept[exact < 2.0**-63].any()
    assert kept[0] == pytest.approx(1, rel=HALF)


@by_shape
def test_both_half_steps_from_16_bits(rows, columns):
    block = Block(rows, columns)
    halves = np.empty((rows, columns), dtype=np.uint16)
    block.run(kernels.keep_halves, halves)
    z, mass = np.full(rows, np.nan, dtype=np.float32), np.zeros(columns, dtype=np.float32)
    kernels.pass_kept(halves, block.v, block.a, z, mass)
    expected = block.products(in_floats(halves))
    np.testing.assert_allclose(z, expected[0], rtol=CLOSE)
    np.testing.assert_allclose(mass, expected[1], rtol=CLOSE)


@pytest.mark.parametrize("masked", [False, True])
@by_shape
def test_row_sums(rows, columns, masked):
    block = Block(rows, columns, masked=masked)
    top, z = np.empty(rows, dtype=np.float32), np.empty(rows, dtype=np.float32)
    ones, row = np.ones(columns, dtype=np.float32), np.empty(columns, dtype=np.float32)
    kernels.row_sums(block.scores, block.p, SCALE, ones, top, z, row)
    np.testing.assert_allclose(z, block.kernel.sum(axis=1), rtol=CLOSE)
    np.testing.assert_allclose(top[~block.dead], block.tops[~block.dead], atol=1e-7)


def exact_column_sums(scores, f, tau):
    x = (scores.astype(np.float64) + f[:, None]) / tau
    top = x.max(axis=0)
    return tau * (np.log(np.exp(x - np.where(np.isneginf(top), 0, top)).sum(axis=0)) + top)


@pytest.mark.parametrize("height", [1, 2, 3, 4, 7, 13, 130])
@pytest.mark.parametrize("order", ["rising", "falling", "as they come", "leaping"])
def test_column_sums_follow_the_largest_term(order, height):
    """Blocks whose largest terms come first, last, or anywhere: the sums are moved along."""
    block = Block(130, 65)
    f = np.random.default_rng(1).normal(0, 0.5, 130).astype(np.float32)
    leaps = np.repeat(np.arange(10) // 4, 13).astype(np.float32) * 4
    f = {"rising": np.sort(f), "falling": np.sort(f)[::-1].copy(), "as they come": f, "leaping": leaps}[order]
    shift, sums = np.full(65, NOTHING_YET), np.zeros(65, dtype=np.float32)
    scratch = np.empty((2, 65), dtype=np.float32)
    for start in range(0, 130, height):
        rows = slice(start, start + height)
        kernels.column_sums(block.scores[rows], f[rows], SCALE, shift, sums, scratch, 13)
    found = shift + TAU * np.log(sums.astype(np.float64))
    np.testing.assert_allclose(found, exact_column_sums(block.scores, f, TAU), atol=1e-6)


@pytest.mark.parametrize("available", [1, 2])
@pytest.mark.parametrize("height", [1, 3, 1000])
@pytest.mark.parametrize("tau", [1e-4, 1e-3, 0.01, 0.1])
def test_column_sums_block_by_block(tau, height, available):
    scores = Block(130, 65).scores
    scores[:, 3] = -np.inf
    scores[5, :9] = -np.inf
    f = np.random.default_rng(1).normal(0, 0.05, 130).astype(np.float32)
    sums = ColumnSums(65, tau, kernels=kernels, threads=available)
    for start in range(0, 130, height):
        sums.add(scores[start : start + height], f[start : start + height])
    with np.errstate(divide="ignore"):
        exact = exact_column_sums(scores, f, tau)
    found = sums.total()
    assert np.isneginf(found[3])
    assert np.isfinite(np.delete(found, 3)).all()
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_column_sums_settle_before_float32_has_had_enough():
    """Ten thousand rows in small blocks, as many as two settlings and a rest."""
    scores = np.random.default_rng(2).normal(0.2, 0.05, (10_000, 9)).astype(np.float32)
    sums = ColumnSums(9, TAU, kernels=kernels)
    for start in range(0, 10_000, 500):
        sums.add(scores[start : start + 500])
    np.testing.assert_allclose(sums.total(), exact_column_sums(scores, np.zeros(10_000), TAU), atol=1e-6)


@pytest.mark.parametrize("available", [1, 2])
@pytest.mark.parametrize("kept", [None, np.float32, np.uint16])
def test_balance_is_the_same_on_any_number_of_threads(kept, available):
    block = Block(130, 200)
    balance = SinkhornKernel(200, TAU, kernels=kernels, threads=available, memory=1 << 20)
    place = None if kept is None else np.empty((130, 200), dtype=kept)
    z, mass, top = balance.from_scores(block.scores, block.p, block.v, block.a, place)
    block.agrees(top, z, mass)
    np.testing.assert_allclose(
        balance.row_sums(block.scores, block.p), block.tops + TAU * np.log(block.kernel.sum(axis=1)), atol=1e-6
    )
    if place is not None:
        z, mass = balance.from_kernel(place, block.v, block.a)
        held = block.products(place if kept == np.float32 else in_floats(place))
        np.testing.assert_allclose(z, held[0], rtol=CLOSE)
        np.testing.assert_allclose(mass, held[1], rtol=CLOSE)


def test_plain_balance_is_the_compiled_one():
    block = Block(130, 200)
    block.agrees(*_top_first(SinkhornKernel(200, TAU), block))


def _top_first(balance, block):
    z, mass, top = balance.from_scores(block.scores, block.p, block.v, block.a)
    return top, z, mass


@pytest.mark.parametrize("kind", ["all different", "ties", "masked", "sorted", "reversed"])
@pytest.mark.parametrize(
    ("k", "columns"), [(1, 1), (1, 200), (2, 64), (7, 7), (10, 65), (63, 129), (64, 64), (64, 300)]
)
def test_the_best_of_each_row(k, columns, kind):
    rng = np.random.default_rng([k, columns])
    scores = rng.normal(size=(20, columns)).astype(np.float32)
    bias = rng.normal(size=columns).astype(np.float32)
    if kind == "ties":
        scores, bias = np.round(scores), np.round(bias)
    elif kind == "masked":
        scores[rng.random(scores.shape) < 0.5] = -np.inf
        scores[3] = -np.inf
    elif kind != "all different":
        bias[:] = 0
        scores.sort(axis=1)
        scores = np.ascontiguousarray(scores[:, ::-1]) if kind == "reversed" else scores
    values, found = np.empty((20, k), dtype=np.float32), np.empty((20, k), dtype=np.int64)
    kernels.top_rows(scores, bias, values, found)
    expected_values, expected = top_k(scores + bias, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(values, expected_values)


@pytest.mark.parametrize("available", [1, 2])
@pytest.mark.parametrize("height", [1, 3, 64, 65, 1000])
@pytest.mark.parametrize("kind", ["all different", "ties", "masked", "rising"])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_best_of_each_column(k, kind, height, available):
    """Rising scores are the hard case: every one of them goes into its pool."""
    rng = np.random.default_rng(k)
    scores = rng.normal(size=(400, 205)).astype(np.float32)
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "masked":
        scores[rng.random(scores.shape) < 0.5] = -np.inf
    elif kind == "rising":
        scores.sort(axis=0)
    top = ColumnTop(205, k, kernels=kernels, threads=available)
    for start in range(0, 400, height):
        top.add(np.ascontiguousarray(scores[start : start + height]))
    best, weights = top.best()
    np.testing.assert_array_equal(best, -np.sort(-scores, axis=0)[:k])
    assert (weights == 1).all()


def test_a_column_with_few_scores_clips_k_for_all():
    scores = np.random.default_rng(0).normal(size=(100, 70)).astype(np.float32)
    scores[7:, 3] = -np.inf
    compiled, plain = ColumnTop(70, 20, kernels=kernels), ColumnTop(70, 20)
    compiled.add(scores)
    plain.add(scores)
    found = compiled.best()[0]
    assert found.shape == (7, 70)
    np.testing.assert_array_equal(found, plain.best()[0])


def test_columns_without_any_score():
    top = ColumnTop(70, 20, kernels=kernels)
    top.add(np.full((100, 70), -np.inf, dtype=np.float32))
    assert (top.best()[0] == -np.inf).all()


def test_one_block_of_another_precision_among_the_others():
    scores = np.random.default_rng(0).normal(size=(100, 70))
    scores = scores.astype(np.float32).astype(np.float64)
    top = ColumnTop(70, 20, kernels=kernels)
    top.add(scores[:40].astype(np.float32))
    top.add(scores[40:70])
    top.add(scores[70:].astype(np.float32))
    np.testing.assert_array_equal(top.best()[0], -np.sort(-scores, axis=0)[:20])


def ordered(kind, rng, rows, columns):
    """Scores of a bank that came in some order: columns rise, fall, or do both side by side."""
    scores = rng.normal(size=(rows, columns)).astype(np.float32)
    if kind == "all different":
        return scores
    if kind == "ties":
        return np.round(scores)
    if kind == "masked":
        scores[rng.random(scores.shape) < 0.5] = -np.inf
        return scores
    if kind == "one column short of scores":
        scores[2:-2, columns // 2] = -np.inf
        return scores
    rising = np.sort(scores, axis=0)
    falling = rising[::-1]
    turns = {"rising": [rising], "falling": [falling], "both": [rising, falling]}[kind]
    return np.ascontiguousarray(np.stack([turns[j % len(turns)][:, j] for j in range(columns)], axis=1))


ORDERS = ["all different", "ties", "masked", "one column short of scores", "rising", "falling", "both"]


@pytest.mark.parametrize("height", [70, 1000, 5000])
@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("k", [1, 10, 128])
def test_the_best_of_a_bank_in_any_order(k, kind, height):
    """A bank that is sorted makes every guess wrong about where its k-th best score will be."""
    scores = ordered(kind, np.random.default_rng(k), 5000, 70)
    expected = -np.sort(-scores, axis=0)[:k]
    expected = expected[: max(1, np.isfinite(expected).all(axis=1).sum())]
    found, _ = column_top(
        MatrixScores(scores, 64, height), k, execution=Execution(compiled=True, threads=2, block_rows=height)
    )
    np.testing.assert_array_equal(found, expected)


SEARCHES = """
from unhub.core.execution import Execution
from unhub.core.execution import Demand, compiled
demand = Demand()
asked = Execution(small=250, demand=demand)
assert [asked.search_kernels((10, 10)) is not None for _ in range(4)] == [False, False, True, True]
assert Execution(demand=Demand()).search_kernels((1, 1)) is not None, "they are loaded by now"
assert Execution().search_kernels((1, 1)) is None, "each search alone"
"""


def test_many_small_pieces_are_worth_as_much_as_a_large_one():
    """In a process of its own, in which no kernels are loaded yet."""
    subprocess.run([sys.executable, "-c", SEARCHES], check=True, timeout=300)


def test_small_work_never_meets_kernels_that_are_not_wanted():
    asked = Execution(small=1, compiled=False, demand=Demand())
    assert not any(asked.search_kernels((10, 10)) for _ in range(3))
    assert asked.kernels((1000, 1000)) is None


@pytest.mark.parametrize("k", [1, 10, 64])
def test_a_search_finds_the_same_with_and_without_kernels(k, unit_rows):
    source, bias = EmbeddingScores(unit_rows(50, 8), unit_rows(300, 8), 20, tall_rows=20), unit_rows(1, 300)[0]
    plain, quick = (search(source, bias, k, Execution(compiled=each, threads=2)) for each in (False, True))
    np.testing.assert_array_equal(plain[0], quick[0])
    np.testing.assert_array_equal(plain[1], quick[1])
