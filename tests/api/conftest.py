"""Random but repeatable problems."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20251027)


@pytest.fixture
def unit_rows(rng):
    def make(rows, dim):
        x = rng.standard_normal((rows, dim)).astype(np.float32)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return make
