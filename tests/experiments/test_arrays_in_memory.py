"""Experiments on a Dataset of arrays: no file is needed, and nothing is said of one."""

import json
import re

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.dataset import Bank, Dataset
from unhub.experiments.figures import FIGURES
from unhub.experiments.reproduction import recorded_run
from unhub.io import open_rows
from unhub.reports.result_files import write_reproduction


@pytest.fixture
def in_memory(arrays):
    def make(**more):
        queries, targets = arrays["test"]
        banks = {name: Bank(*arrays[name]) for name in ("val", "train", "other")}
        given = {"relevant": np.arange(60), "banks": banks, "settings": {"resamples": 20}, "name": "Small"}
        return Dataset(queries=queries, targets=targets, **{**given, **more})

    return make


def sentences(value):
    """Every text in a result."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (*sentences(key), *sentences(each))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from sentences(each)


def test_every_table_and_figure_of_arrays(in_memory, tmp_path):
    reproduction = unhub.reproduce(in_memory(), tables="all", figures="all")
    assert [table.name for table in reproduction.tables] == ["query-aware", "banks", "skewness", "variants"]
    (experiment,) = reproduction.experiments
    assert {figure.stem.split(".")[0] for figure in experiment.figures} == set(FIGURES)
    assert not reproduction.notes
    write_reproduction(reproduction, tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["experiment"] is None
    for table in reproduction.tables:
        written = json.loads((tmp_path / table.name / "table.json").read_text())
        assert not [text for text in sentences(written) if re.search(r"\bNone\b", text)]
    with pytest.raises(InputError, match=r"run\.json names no experiment file; its data were arrays in memory"):
        recorded_run(tmp_path)


def test_the_facts_have_the_hash_of_each_array(in_memory, arrays):
    def facts(**more):
        return unhub.reproduce(in_memory(**more), ["query-aware"]).tables[0].facts["files"]

    first, other = facts(), facts(relevant=np.arange(60)[::-1].copy())
    assert set(first) == {
        "test.queries", "test.targets", "test.relevant",
        *(f"banks.{bank}.{part}" for bank in ("val", "train", "other") for part in ("queries", "targets")),
    }  # fmt: skip
    assert all(re.fullmatch("[0-9a-f]{64}", each) for each in first.values())
    assert first == facts()
    assert [key for key in first if first[key] != other[key]] == ["test.relevant"]
    assert facts(relevant=[{row} for row in range(60)]) == first, "the same relevance in other words"
    assert facts(relevant=[{row, (row + 1) % 60} for row in range(60)]) != first
    assert facts(relevant="aligned").keys() == first.keys() - {"test.relevant"}


def test_arrays_of_the_same_bytes_and_another_shape_are_not_the_same(in_memory, arrays):
    half = arrays["val"][0].reshape(-1, 12)
    one = Dataset(queries=half, targets=half, relevant="aligned", normalize=True)
    other = Dataset(queries=arrays["val"][0], targets=arrays["val"][0], relevant="aligned", normalize=True)
    digests = [unhub.reproduce(each).tables[0].facts["files"]["test.queries"] for each in (one, other)]
    assert digests[0] != digests[1]


def test_a_folder_of_points_is_of_these_arrays(in_memory, arrays, tmp_path):
    points = unhub.sweep(in_memory(), "strength", bank="val", folder=tmp_path)
    assert points == unhub.sweep(in_memory(), "strength", bank="val", folder=tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.name == "strength.forward.val.jsonl"
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + len({(point.at, point.method == "none") for point in points})
    for other in (
        in_memory(banks={"val": Bank(arrays["val"][0][:70], arrays["val"][1])}),
        in_memory(relevant=np.arange(60)[::-1].copy()),
    ):
        with pytest.raises(InputError, match="holds a sweep of other files or settings"):
            unhub.sweep(other, "strength", bank="val", folder=tmp_path)
    assert file.read_text().splitlines() == lines


def test_every_sweep_of_arrays(in_memory):
    for over in ("tau", "bank-size", "bank-source", "strength", "iterations"):
        points = unhub.sweep(in_memory(), over, bank=None if over == "bank-source" else "train", rounds=1)
        assert {point.method for point in points} == {"none", "is", "sn", "dbsn"} - (
            {"is"} if over == "iterations" else set()
        )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda data: unhub.sweep(data, bank="vla"), "bank is 'vla'; there are val, train, other, test queries."),
        (lambda data: unhub.sweep(data, direction="t2v"), "direction is 't2v'; use one of forward, reverse."),
        (
            lambda data: unhub.reproduce(data, ["A6"]),
            "the table classification cannot be made: task_type is retrieval, not classification.",
        ),
        (
            lambda data: unhub.reproduce(data.with_scores(np.eye(60)), ["4"]),
            "the table banks cannot be made: there is no bank; name query_bank_scores, a matrix",
        ),
        (
            lambda data: unhub.reproduce(data.with_scores(np.eye(60)), figures=["hub-map"]),
            "the figure hub-map cannot be drawn: there is a matrix of scores; name queries and targets, embeddings.",
        ),
        (lambda data: unhub.reproduce(data, protocol="authors"), "the protocol authors needs modality, since"),
        (lambda data: unhub.reproduce([data, data], folder="x"), "two of the datasets are called Small-model; give"),
        (lambda data: unhub.reproduce(data, bank="vla"), "bank is 'vla'; there are val, train, other, test queries."),
        (lambda data: unhub.reproduce(data, figures=["rader"]), "there is no figure 'rader'; "),
    ],
)
def test_no_sentence_begins_with_a_file(in_memory, wrong, said):
    with pytest.raises(InputError) as caught:
        wrong(in_memory())
    assert str(caught.value).startswith(said)


def test_constant_scores_are_refused_whatever_the_protocol():
    data = Dataset(scores=np.zeros((30, 30), np.float32), relevant="aligned")
    for protocol in ("auto", "paper"):
        with pytest.raises(InputError, match=r"^every test score is 0, which ranks nothing; check the data"):
            unhub.reproduce(data, protocol=protocol)


def test_logits_are_refused_where_temperatures_are_published(arrays):
    queries, targets = arrays["test"]
    data = Dataset(scores=100 * queries @ targets.T, relevant="aligned")
    assert unhub.reproduce(data).tables
    assert unhub.sweep(data)
    for run in (unhub.reproduce, unhub.sweep):
        with pytest.raises(InputError, match=r"^the test scores run from .* look like logits"):
            run(data, protocol="paper")


def test_the_default_protocol_is_what_evaluate_computes(in_memory, arrays):
    data = in_memory()
    (table,) = unhub.reproduce(data, ["banks"]).tables
    assert table.protocol == "auto"
    rows = {(row.bank, row.label): row for row in table.rows}
    for way in ("forward", "reverse"):
        wanted = unhub.evaluate(data, bank="val", direction=way, methods=["none", "is", "sn", "dbsn"])
        for label, bank in (("none", "val & -"), ("is", "val & -"), ("sn", "val & -"), ("dbsn", "val & val")):
            row = rows[bank, label]
            assert row.values[way]["R@1"] == wanted[label]["R@1"]
            assert row.settings[way] == dict(wanted[label].settings)
    assert rows["val & -", "sn"].settings["forward"]["tau"] not in ("auto", 0.01)
    (paper,) = unhub.reproduce(data, ["banks"], protocol="paper").tables
    assert next(row for row in paper.rows if row.label == "sn").settings["forward"]["tau"] == 0.01


def test_values_are_compared_with_the_papers_under_its_protocol(in_memory):
    data = in_memory(name="MSR-VTT", model="CLIP4Clip", directions=("t2v", "v2t"))
    assert unhub.reproduce(data, ["1"]).tables[0].protocol == "auto"
    reproduction = unhub.reproduce(data, ["1"], compared=True)
    assert reproduction.tables[0].protocol == "paper"
    assert reproduction.experiments[0].comparisons["query-aware"]
    assert unhub.reproduce(data, ["1"], compared=True, protocol="auto").tables[0].protocol == "auto"


def test_all_tables_open_and_check_each_file_once(written, counted):
    with counted() as (opened, checked):
        unhub.reproduce(written(), tables="all")
    opened.pop("scores"), checked.pop("scores")  # transport plans, which are in memory
    assert opened == checked == {"queries": 1, "targets": 1, "query_bank": 2, "target_bank": 2}


def test_what_a_sweep_draws_from_a_bank_is_opened_once(written, tmp_path, calls_of):
    with calls_of(open_rows) as calls:
        unhub.sweep(written(), "bank-size", bank="val", rounds=1)
    opened = [call["source"] for call in calls if isinstance(call["source"], str)]
    assert sorted(opened) == sorted(
        str(tmp_path / f"{part}_{side}.npy") for part in ("test", "val") for side in ("queries", "targets")
    )
