"""What the paper's text says, and what its authors' scripts compute."""

import numpy as np
import pytest

from unhub import InputError
from unhub.dataset import Dataset
from unhub.experiments import preset, reproduce
from unhub.methods import settings


def chosen(protocol, name, modality="video", direction="forward", banked=False, **given):
    return settings(preset(protocol).method(name, modality, direction, banked=banked, settings=given))


def test_the_paper_has_one_temperature_for_each_family():
    for modality in ("image", "video", ""):
        assert chosen("paper", "is", modality)["tau"] == chosen("paper", "dis", modality)["tau"] == 0.02
        assert (chosen("paper", "sn", modality)["tau"], chosen("paper", "sn", modality)["iterations"]) == (0.01, 10)
        assert chosen("paper", "dis", modality)["k"] == 1


def test_the_scripts_differ_by_modality_direction_and_bank():
    assert chosen("authors", "sn", "video")["iterations"] == 5
    assert (chosen("authors", "sn", "image")["iterations"], chosen("authors", "sn", "image")["tol"]) == (1000, 1e-9)
    assert chosen("authors", "dbsn", "image", banked=True)["iterations"] == 10
    assert [chosen("authors", "is", "image", way)["tau"] for way in ("forward", "reverse")] == [0.02, 0.01]
    assert [chosen("authors", "dis", "image", way)["tau"] for way in ("forward", "reverse")] == [0.0195, 0.0095]
    assert (chosen("authors", "is", "video")["tau"], chosen("authors", "dis", "video")["tau"]) == (0.01, 0.0095)
    assert chosen("authors", "dis", "video", banked=True)["k"] == 2


def test_what_the_file_says_comes_before():
    assert chosen("authors", "sn", tau=0.3, iterations=4)["iterations"] == 4
    assert chosen("paper", "dualis", tau=0.3)["tau1"] == 0.3
    assert "tau" not in chosen("paper", "none", tau=0.3)


def test_medians_are_rounded_down_by_the_scripts_only(written, tmp_path):
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((60, 60)).astype(np.float32) + np.eye(60, dtype=np.float32)
    np.save(tmp_path / "S.npy", scores)
    path = written(dataset='modality = "image"', test='scores = "S.npy"', banks=(), settings="tau = 1.0")
    medians = {}
    for protocol in ("paper", "authors"):
        table = reproduce(Dataset.open(path), ["1"], protocol=protocol).tables[0]
        medians[protocol] = [value["MdR"] for row in table.rows for value in row.values.values()]
        assert all(row.settings["forward"].get("tau", 1.0) == 1.0 for row in table.rows)
    assert any(each % 1 for each in medians["paper"])
    assert medians["authors"] == [np.floor(each) for each in medians["paper"]]


def test_an_unknown_protocol_is_refused():
    with pytest.raises(InputError, match=r"protocol is 'author'; did you mean authors\?"):
        preset("author")
