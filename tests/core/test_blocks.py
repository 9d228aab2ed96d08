"""Memory in words, and how many rows it buys."""

import pytest

from unhub.core.plan import LARGEST_BLOCK, TEMPORARIES, block_rows
from unhub.executors import memory_bytes
from unhub.foundation.errors import InputError


def test_words_and_numbers():
    assert memory_bytes("64MB") == 64_000_000
    assert memory_bytes("2 GiB") == 2 << 30
    assert memory_bytes("1.5kb") == 1500
    assert memory_bytes(100) == 100


@pytest.mark.parametrize("wrong", ["much", "-3MB", "0", "64 MX", "", 0])
def test_other_words_are_refused(wrong):
    with pytest.raises(InputError, match="give a size such as '64MB'"):
        memory_bytes(wrong)


def test_blocks_stay_within_memory_and_have_at_least_one_row():
    assert block_rows(1_000_000, 1000) == 1
    assert block_rows(1000, 24_000_000) * 1000 * 4 * TEMPORARIES <= 24_000_000
    assert block_rows(1000, 1 << 40) == LARGEST_BLOCK // 1000
