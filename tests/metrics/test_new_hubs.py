"""New hubs: beyond chance, beyond what two samples of the same traffic differ by, and far beyond what was."""

import math

import numpy as np
import pytest

from unhub.metrics.new_hubs import ALPHA, hub_count, new_hubs


@pytest.mark.parametrize(("queries", "gallery", "k"), [(200, 1000, 10), (50, 40, 10), (2000, 300, 1), (100, 90_000, 5)])
def test_the_count_of_a_hub_is_the_smallest_that_poisson_hardly_gives(queries, gallery, k):
    mean = queries * k / gallery

    def reaches(count):
        return 1 - math.fsum(math.exp(-mean + each * math.log(mean) - math.lgamma(each + 1)) for each in range(count))

    count = hub_count(queries, gallery, k)
    assert gallery * reaches(count) <= ALPHA < gallery * reaches(count - 1)


def test_even_traffic_has_hardly_a_new_hub():
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(400):
        now, before = rng.poisson(2.0, size=(2, 1000))
        told += bool(new_hubs(now, 200, before, 200, 10).size)
    assert told <= 4 * ALPHA * 400


def test_a_hub_that_was_one_before_is_not_new():
    now, before = np.full(500, 2), np.full(500, 2)
    now[[3, 7]], before[3] = 60, 60
    assert new_hubs(now, 200, before, 200, 10).tolist() == [7]


def test_samples_of_different_size_are_compared_by_rate():
    now, before = np.full(500, 2), np.full(500, 20)
    now[[3, 7, 8]], before[3], before[7] = (60, 60, 90), 600, 100
    assert new_hubs(now, 200, before, 2000, 10).tolist() == [8, 7]


def test_more_than_before_but_within_chance_is_no_hub():
    now, before = np.full(100, 20), np.zeros(100, dtype=int)
    assert not new_hubs(now, 200, before, 5000, 10).size
