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


def test_settings_of_an_experiment_reach_every_door(folder, arrays):
    data = unhub.Dataset.open(folder / "experiment.toml")
    line = next(each for each in unhub.report(data, None).table.lines if each.label == "sn" and each.bank == "val")
    judged = unhub.evaluate(data, bank="val")
    assert judged["sn"].settings["tau"] == unhub.fit("sn", data, bank="val").method.tau == line.tau == TAU
    assert judged["sn"]["R@1"] == line.values["R@1"]
    assert list(judged) == ["none", "is", "sn", "dbsn"]
    assert unhub.evaluate(data, bank="val", tau=0.2)["sn"].settings["tau"] == 0.2
    assert unhub.evaluate(data, bank="val", methods=[unhub.methods.SN(tau=0.3)])["sn"].settings["tau"] == 0.3
    by_name = unhub.evaluate(data, bank="val", direction="i2t")
    assert by_name["sn"]["R@1"] == unhub.evaluate(data, bank="val", direction="reverse")["sn"]["R@1"]


def test_any_method_can_be_reported_and_a_prior_leaves_those_that_take_it(folder, arrays):
    assert unhub.report(folder / "experiment.toml", None, method="nnn").name == "NNN"
    prior = unhub.Dataset(**arrays, target_prior=np.linspace(1, 2, len(arrays["targets"])))
    labels = [line.label for line in unhub.report(prior, None).table.lines if line.bank == "bank"]
    assert {"dbsn", "sn"} <= set(labels)
    assert "dualdis" not in labels


def test_a_report_without_relevance_shows_how_even_retrieval_is(arrays):
    data = unhub.Dataset(**{name: arrays[name] for name in ("queries", "targets", "query_bank")})
    result = unhub.report(data, None)
    assert (result.judged, result.verdict.kind, result.examples) == (False, "unknown", None)
    assert "skew@10" in result.table.metrics


def test_a_correction_is_not_fitted_again_by_what_comes_beside_it(folder, arrays):
    correction = unhub.fit("sn", targets=arrays["targets"], query_bank=arrays["query_bank"], tau=TAU)
    test = {name: arrays[name] for name in ("queries", "targets", "relevant")}
    with pytest.raises(InputError, match="tau belongs to a fit; a correction has its own"):
        unhub.evaluate(correction=correction, **test, tau=0.3)
    with pytest.raises(InputError, match="query_bank belongs to a fit"):
        unhub.evaluate(correction=correction, **test, query_bank=arrays["query_bank"])
    both = unhub.evaluate(correction=correction, **test, methods=["is"])
    reported = unhub.report(correction, None, **test)
    line = next(each for each in reported.table.lines if each.label == "is")
    assert both["is"].settings["tau"] == pytest.approx(line.tau)
    assert both["is"]["R@1"] == line.values["R@1"]
    with pytest.raises(InputError, match="data is of type int; give a Dataset, a Correction or a path"):
        unhub.report(3, None)


def test_no_mark_of_the_wording_is_left_in_a_note(arrays):
    correction = unhub.fit("sn", targets=arrays["targets"], query_bank=arrays["query_bank"])
    result = unhub.report(correction, None, targets=arrays["targets"])
    assert "No queries were given" in result.notes[0]
    assert not any("\ue000" <= letter <= "\ue002" for letter in json.dumps(result.to_dict(), ensure_ascii=False))
