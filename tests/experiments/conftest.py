"""A small dataset with hubs and two banks, in files, and an experiment file that names them."""

import numpy as np
import pytest

PARTS = {"test": 60, "val": 80, "train": 120, "other": 50}


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(11)
    common = rng.standard_normal(24)
    made = {}
    for part, count in PARTS.items():
        targets = rng.standard_normal((count, 24)) + rng.gamma(1, 0.5, (count, 1)) * common
        asked = targets + 0.9 * rng.standard_normal((count, 24)) + 0.4 * common
        made[part] = unit(asked), unit(targets)
    return made


@pytest.fixture
def written(tmp_path, arrays):
    """A function that writes an experiment file with the sections given, beside the arrays."""
    for part, (queries, targets) in arrays.items():
        np.save(tmp_path / f"{part}_queries.npy", queries)
        np.save(tmp_path / f"{part}_targets.npy", targets)

    def write(*, dataset="", test=None, banks=("val", "train"), settings="tau = 0.1", name="experiment.toml"):
        lines = ["[dataset]", 'name = "Small"', 'model = "made"', dataset, "[test]"]
        lines += [test or 'queries = "test_queries.npy"\ntargets = "test_targets.npy"']
        for bank in banks:
            lines += [f"[banks.{bank}]", f'queries = "{bank}_queries.npy"', f'targets = "{bank}_targets.npy"']
        path = tmp_path / name
        path.write_text("\n".join([*lines, "[settings]", settings]))
        return path

    return write
