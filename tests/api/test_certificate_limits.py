"""Certificates where numbers are awkward: in the middle of two codes, too small for float32, or too large."""

import numpy as np
import pytest

import unhub
from unhub import InputError

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

ROUNDINGS = {
    "to the even one": np.rint,
    "up": lambda steps: np.floor(steps + 0.5),
    "down": lambda steps: np.ceil(steps - 0.5),
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("largest", [127, 200, 254, 255])
def test_numbers_in_the_middle_of_two_codes_may_get_either(largest, rounding, rng):
    targets = rng.integers(0, largest + 1, (50, 16)).astype(np.float32)
    targets[rng.random(targets.shape) < 0.5] = largest / 2
    targets[0, 0] = largest
    queries = rng.integers(-3, 4, (20, 16)).astype(np.float32) + 0.25
    found = unhub.fit("none", targets=targets, query_bank=queries, metric="ip").certify(queries, 3, error="int8")
    exact, wide = queries.astype(np.float64), targets.astype(np.float64)
    kept = ROUNDINGS[rounding](wide * 127 / largest) * (largest / 127)
    off = np.abs(exact @ (kept - wide).T)
    assert (off <= found.errors[:, None]).all()
    assert off.max() > 0.5 * found.error  # and it is not much wider than that


@pytest.mark.parametrize("error", ["float32", "float16", "int8"])
@pytest.mark.parametrize("scale", [1e-30, 1e-44])
def test_products_too_small_for_float32_are_covered(scale, error, rng):
    targets = (scale * rng.normal(size=(30, 24))).astype(np.float32)
    queries = (1e-17 * rng.normal(size=(20, 24))).astype(np.float32)
    targets = targets[(targets != 0).any(axis=1)]
    correction = unhub.fit("none", targets=targets, query_bank=queries, metric="ip")
    found = correction.certify(queries, 3, error=error)
    exact = queries.astype(np.float64) @ targets.astype(np.float64).T
    hits = correction.search(queries, k=len(targets))
    here = np.full_like(exact, np.nan)
    np.put_along_axis(here, hits.rows, hits.scores.astype(np.float64), axis=1)
    assert (np.abs(exact - here) <= found.errors[:, None]).all()
    flushed = np.zeros_like(exact)  # where the processor takes numbers this small for zero
    assert (np.abs(flushed - here) <= found.errors[:, None]).all()
    assert found.set_share == 0


@pytest.mark.parametrize("error", ["float32", "int8", 0.1])
def test_scores_that_leave_float32_are_refused(error, rng):
    vectors = rng.normal(size=(20, 8)).astype(np.float32)
    correction = unhub.fit("none", targets=1e20 * vectors, query_bank=vectors, metric="ip")
    assert correction.certify(vectors, 3, error=error).error > 0
    with pytest.raises(InputError, match=r"^queries and targets are so long that their scores may leave float32 \(up"):
        correction.certify(1e20 * vectors, 3, error=error)
