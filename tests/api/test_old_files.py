"""Correction files that were written before there was a Dataset (release 0.1.0)."""

from pathlib import Path

import numpy as np
import pytest

import unhub

FILES = Path(__file__).with_name("files")


@pytest.mark.parametrize("name", ["is", "sn", "dbsn", "dualis"])
def test_an_old_file_loads_searches_extends_and_is_judged(name):
    arrays = np.load(FILES / "before_dataset.npz")
    correction = unhub.load(FILES / f"before_dataset_{name}.unhub", targets=arrays["targets"])
    np.testing.assert_array_equal(correction.bias, np.load(FILES / "before_dataset_biases.npz")[name])
    assert correction.method.name == name
    assert correction.ids == tuple(f"photo {i}" for i in range(12))
    corrected = arrays["queries"] @ arrays["targets"].T + correction.bias
    hits = correction.search(arrays["queries"], k=12)
    np.testing.assert_array_equal(hits.rows, np.argsort(-corrected, axis=1, kind="stable"))
    np.testing.assert_allclose(correction.extend(arrays["targets"]), correction.bias, atol=1e-5)
    result = unhub.evaluate(
        queries=arrays["queries"], targets=arrays["targets"], relevant=[0, 1, 2], correction=correction
    )
    assert list(result) == ["none", name]
    assert not result[name].transductive
