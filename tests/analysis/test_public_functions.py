"""``unhub.report`` and ``unhub.serve`` from Python: a Dataset in memory, a correction, an experiment file."""

import json
import urllib.request

import numpy as np
import pytest

import unhub
from unhub.foundation.errors import InputError

from .small_experiment import QUERIES, TAU, write_experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public")
    write_experiment(folder)
    return folder


@pytest.fixture(scope="module")
def arrays(folder):
    names = {"queries": "queries", "targets": "targets", "query_bank": "bank", "target_bank": "others"}
    arrays = {part: np.load(folder / f"{name}.npy") for part, name in names.items()}
    return arrays | {"relevant": np.load(folder / "relevant.npy")}


def test_a_report_of_arrays_is_the_report_of_their_files(folder, arrays, tmp_path):
    of_files = unhub.report(folder / "experiment.toml", None, bank="val")
    data = unhub.Dataset(**arrays, name="Small", settings={"tau": TAU}, modality="image")
    of_arrays = unhub.report(data, tmp_path / "arrays.html")
    assert of_arrays.table.lines[-1].values == of_files.table.lines[-1].values
    assert of_arrays.headline == of_files.headline
    assert of_arrays.title == "Small"
    assert len(of_arrays.card.files["test.queries"]) == 64
    text = (tmp_path / "arrays.html").read_text("utf-8")
    assert of_arrays.headline.sentence in text
    assert "None" not in of_arrays.subtitle


def test_a_report_of_a_correction_in_memory(arrays, tmp_path):
    correction = unhub.fit("sn", targets=arrays["targets"], query_bank=arrays["query_bank"])
    parts = {name: arrays[name] for name in ("queries", "targets", "relevant")}
    result = unhub.report(correction, tmp_path / "sn.html", **parts)
    judged = unhub.evaluate(correction=correction, **parts)
    assert result.table.lines[1].values["R@1"] == judged["sn"]["R@1"]
    assert result.table.lines[1].name == "SN as saved"


def test_what_a_report_shows_of_a_method_is_what_evaluate_gives(folder, arrays):
    result = unhub.report(folder / "experiment.toml", None, bank="val", method="sn")
    whole = unhub.evaluate(**arrays, methods=["none", "sn"], tau=TAU)
    line = next(each for each in result.table.lines if each.label == "sn" and each.bank == "val")
    assert (line.values["R@1"], line.values["MnR"]) == (whole["sn"]["R@1"], whole["sn"]["MnR"])


def test_the_default_of_a_report_is_the_temperature_that_a_fit_deploys(folder, arrays):
    data = unhub.Dataset(**arrays)
    line = next(each for each in unhub.report(data, None).table.lines if each.label == "sn" and each.bank == "bank")
    deployed = unhub.fit("sn", targets=arrays["targets"], query_bank=arrays["query_bank"])
    assert line.tau == pytest.approx(deployed.method.tau)


def test_a_report_opens_and_checks_each_array_once(folder, counted):
    with counted() as (opened, checked):
        unhub.report(folder / "experiment.toml", None)
    assert opened == checked == {"queries": 1, "targets": 1, "query_bank": 1, "target_bank": 1}


def test_a_page_of_arrays_in_memory_has_no_command(arrays):
    data = unhub.Dataset(**arrays, settings={"tau": TAU})
    with unhub.serve(data, port=0, block=False) as page:
        view = json.load(urllib.request.urlopen(f"{page.url}api/view?method=sn", timeout=60))
    assert view["command"] == ""
    assert sum(view["counts_before"]) == QUERIES
    result = unhub.evaluate(**arrays, methods=["none", "sn"], tau=TAU)
    assert view["lines"][1]["values"]["R@1"] == pytest.approx(result["sn"]["R@1"])


def test_a_mistyped_argument_is_answered_with_the_right_name(folder):
    with pytest.raises(InputError, match="report has no argument quries; did you mean queries"):
        unhub.report(folder / "experiment.toml", None, quries="x.npy")
    with pytest.raises(InputError, match="serve has no argument relevent; did you mean relevant"):
        unhub.serve(folder / "experiment.toml", relevent="x.npy")
