"""The paper's protocols on real sets: values that are known from an independent implementation."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from unhub.dataset import Dataset
from unhub.experiments import reproduce

MSRVTT = {
    "t2v": {"none": (48.0, 73.0, 82.9), "is": (50.8, 76.3, 84.7), "sn": (53.8, 77.8, 86.0)},
    "v2t": {"none": (46.0, 74.1, 82.8), "is": (51.2, 77.1, 85.1), "sn": (53.3, 79.3, 85.8)},
}

A_THIRD = 0.05
"""of the standard deviation of the scores of the ridge map, about; at strength 1 "auto" is a half of it"""


def _rows(path, text, table, protocol="paper"):
    path.write_text(text)
    made = reproduce(Dataset.open(path), [table], protocol=protocol).tables[0]
    return {(row.bank, row.label): row for row in made.rows}


def test_msrvtt_both_ways(shared_data, tmp_path):
    matrix = shared_data("msrvtt_1ka/msrvtt_video_matrix.npy")
    text = f'[dataset]\nname = "MSR-VTT"\ndirections = ["t2v", "v2t"]\n[test]\nscores = "{matrix}"\n'
    rows = _rows(tmp_path / "msrvtt.toml", text, "query-aware")
    for way, known in MSRVTT.items():
        for label, wanted in known.items():
            row = rows["test & -", label]
            assert tuple(row.values[way][name] for name in ("R@1", "R@5", "R@10")) == pytest.approx(wanted, abs=0.051)
    assert rows["test & -", "none"].values["t2v"]["MnR"] == pytest.approx(13.1, abs=0.051)
    assert rows["test & -", "sn"].values["t2v"]["MnR"] == pytest.approx(9.9, abs=0.051)
    assert rows["test & -", "sn"].tests["t2v"].beats == "abc", "SN > IS > none, beyond chance"


def test_banks_of_multi30k_as_they_are(shared_data, tmp_path):
    file = shared_data("multi30k_cs_en/cs-en.npz")
    text = (
        f'[dataset]\nname = "Multi30k"\ndirections = ["cs-en"]\n[test]\nqueries = "{file}::test_q"\n'
        f'targets = "{file}::test_t"\n[banks.train]\nqueries = "{file}::bank_q"\ntargets = "{file}::bank_t"\n'
        "[settings]\nnormalize = true\nallow_overlap = true\ntau = 0.05\n"
    )
    rows = _rows(tmp_path / "multi30k.toml", text, "banks")
    first = {key: row.values["cs-en"]["R@1"] for key, row in rows.items()}
    assert first["train & -", "none"] == pytest.approx(16.2, abs=0.11)
    assert first["train & -", "is"] == pytest.approx(21.9, abs=0.11)
    assert first["train & train", "dbsn"] == pytest.approx(22.5, abs=0.11)
    assert not np.isnan(list(first.values())).any()


def test_where_a_bank_does_not_help(shared_data, tmp_path):
    """The ridge map from image to text: IS loses, and what DBSN gains may be chance."""
    data = shared_data("flickr8k/flickr8k_ridge_t2i.npz").parents[1]
    sets = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "real_sets.py"))["SETS"]
    text = sets["flickr8k-ridge"].replace("{data}", str(data)).replace('tau = "auto"', f"tau = {A_THIRD}")
    rows = _rows(tmp_path / "ridge.toml", text, "banks")
    assert rows["val & -", "none"].values["i2t"]["R@1"] == pytest.approx(22.3, abs=0.051)
    assert rows["val & -", "is"].tests["i2t"].gain.high < 0
    gain = rows["train & train", "dbsn"].tests["i2t"].gain
    assert gain.low < 0 < gain.value
    assert rows["train & train", "dbsn"].tests["t2i"].gain.low > 5
    assert all(row.transductive for row in rows.values() if row.method != "none"), "captions that two images share"
