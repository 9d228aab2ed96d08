"""What is kept of a matrix within a memory: the kind, its bytes, and the sentence that tells of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhub.core.plan import Plan, block_rows, in_words, plan

ROWS, COLUMNS = 10_000, 3000
SCORES = ROWS * COLUMNS

KINDS = [
    ("cached", True, 16 / 3 + 0.1),
    ("cached in 16 bits", True, 16 / 3 - 0.1),
    ("cached in 16 bits", True, 8 / 3 + 0.1),
    ("partly cached", True, 8 / 3 - 0.1),
    ("partly cached", True, 4 / 3 + 0.1),
    ("streamed", True, 4 / 3 - 0.1),
    ("streamed", True, 0.1),
    ("cached", False, 16 / 3 + 0.1),
    ("partly cached", False, 16 / 3 - 0.1),
    ("partly cached", False, 4 / 3 + 0.1),
    ("streamed", False, 4 / 3 - 0.1),
]
"""three quarters of the memory keep a kernel: four bytes a score, two in 16 bits, a quarter of the rows at the least"""

plans = st.builds(
    lambda rows, columns, tenths, compiled, size: plan(
        rows, columns, 16 * columns + rows * columns * tenths // 10, compiled=compiled, number_bytes=size
    ),
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.integers(0, 120),
    st.booleans(),
    st.sampled_from((4, 8)),
)


@pytest.mark.parametrize(("kind", "compiled", "bytes_a_score"), KINDS)
def test_the_kind_follows_the_memory(kind, compiled, bytes_a_score):
    assert plan(ROWS, COLUMNS, int(bytes_a_score * SCORES), compiled=compiled).kind == kind


def test_numbers_of_eight_bytes_take_twice_the_memory():
    memory = 6 * SCORES
    assert plan(ROWS, COLUMNS, memory, compiled=False).kind == "cached"
    wide = plan(ROWS, COLUMNS, memory, compiled=False, number_bytes=8)
    assert wide.kind == "partly cached"
    assert wide.kept_bytes == wide.kept_rows * COLUMNS * 8


def test_a_memory_without_end_keeps_all():
    assert plan(ROWS, COLUMNS, 1 << 50, compiled=True).kind == "cached"


@given(
    st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 120), st.booleans(), st.sampled_from((4, 8))
)  # fmt: skip
def test_the_bytes_are_never_above_the_memory(rows, columns, tenths, compiled, size):
    """From a memory on that has room for one row at work in its quarter."""
    memory = 16 * columns + rows * columns * tenths // 10
    made = plan(rows, columns, memory, compiled=compiled, number_bytes=size)
    assert made.kept_bytes + made.block_bytes <= memory


@given(plans)
def test_what_is_kept_is_whole_blocks_and_worth_it(made):
    assert 1 <= made.block_rows <= made.rows
    assert (made.kept_rows == made.rows) == made.kind.startswith("cached")
    assert (made.kept_rows == 0) == (made.kind == "streamed")
    if made.kind == "partly cached":
        assert made.kept_rows % made.block_rows == 0
        assert made.kept_rows < made.rows


@given(plans)
def test_more_rounds_compute_what_was_not_kept(made):
    assert made.products(1) == 1
    if made.kind.startswith("cached"):
        assert made.products(10) == 1
    elif made.kind == "streamed":
        assert made.products(10) == 10
    else:
        assert 1 < made.products(10) < 10


@pytest.mark.parametrize("memory", [1, 100, 11_999])
def test_one_row_is_the_least(memory):
    made = plan(ROWS, COLUMNS, memory, compiled=True)
    assert (made.kind, made.block_rows) == ("streamed", 1)


def test_plain_formulas_get_smaller_blocks_than_compiled_ones():
    plain, compiled = (plan(ROWS, COLUMNS, SCORES, compiled=each) for each in (False, True))
    assert plain.block_rows == block_rows(COLUMNS, SCORES * 3 // 4)
    assert plain.block_rows < compiled.block_rows


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            Plan("cached", 1000, 500, 1000, 100),
            "cached: scores are computed once and the kernel is kept, 2 MB",
        ),
        (
            Plan("cached in 16 bits", 1000, 500, 1000, 100, 2),
            "cached in 16 bits: scores are computed once and the kernel is kept, 1 MB",
        ),
        (
            Plan("partly cached", 1000, 500, 400, 100),
            "partly cached: 40% of the kernel is kept, 800 kB, the rest is computed again in each round",
        ),
        (
            Plan("streamed", 1000, 500, 0, 100),
            "streamed: scores are computed again in each round, 200 kB at a time",
        ),
    ],
)
def test_a_plan_says_what_it_does(made, sentence):
    assert str(made) == sentence


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (2.5e6, "2 MB"), (3.2e9, "3.2 GB"), (4.5e12, "4.5 TB")],
)
def test_bytes_in_words(number, words):
    assert in_words(number) == words
