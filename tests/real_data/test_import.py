"""A matrix as others publish it, a hundredfold, on its side and in a pickle, gives the figures that are known of it."""

import pickle

import numpy as np
import pytest

from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.experiments.importing import Dump, import_published

KNOWN = {
    "t2v": {"none": (48.0, 73.0, 82.9), "is": (50.8, 76.3, 84.7), "sn": (53.8, 77.8, 86.0)},
    "v2t": {"none": (46.0, 74.1, 82.8), "is": (51.2, 77.1, 85.1), "sn": (53.3, 79.3, 85.8)},
}


def test_msrvtt_out_of_a_pickle(shared_data, tmp_path):
    matrix = np.load(shared_data("msrvtt_1ka/msrvtt_video_matrix.npy"))
    dump = tmp_path / "sims.pkl"
    dump.write_bytes(pickle.dumps({"npts": 1000, "sims": 100 * matrix.T}))
    made = import_published(
        tmp_path / "msrvtt", Dump(scores=str(dump), transpose=True, trust=True), name="MSR-VTT", modality="video"
    )
    assert made.divisor == 100
    rows = reproduce(Dataset.open(made.experiment), ["query-aware"], protocol="paper").tables[0].rows
    for way, known in KNOWN.items():
        for label, wanted in known.items():
            (row,) = [each for each in rows if each.label == label]
            assert tuple(row.values[way][name] for name in ("R@1", "R@5", "R@10")) == pytest.approx(wanted, abs=0.051)


def test_flickr8k_with_each_image_once_for_each_caption(shared_data, tmp_path):
    world = np.load(shared_data("flickr8k/flickr8k_dual.npz"))
    np.save(tmp_path / "f8k_test_txts.npy", world["test_text"])
    np.save(tmp_path / "f8k_test_imgs.npy", world["test_image"][world["test_text_target"]])
    dump = Dump(queries=str(tmp_path / "f8k_test_txts.npy"), targets=str(tmp_path / "f8k_test_imgs.npy"))
    made = import_published(tmp_path / "f8k", dump, modality="image")
    assert (made.queries, made.targets) == (5000, 1000)
    assert made.notes[0] == "1,000 different of 5,000 rows of targets; each was taken once"
    rows = reproduce(Dataset.open(made.experiment), ["skewness"], protocol="paper").tables[0].rows
    assert rows[0].values["t2i"]["R@1"] == pytest.approx(21.0, abs=0.051)
