"""``unhub.check``: everything that is in the data, everything that is wrong with it, and what a fit would cost."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.dataset import Bank, Dataset, galleries, inspection, reader
from unhub.foundation.errors import InputError


def unit(rng, rows, dim=16):
    vectors = rng.normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(3)
    return {"queries": unit(rng, 40), "targets": unit(rng, 40), "query_bank": unit(rng, 60)}


def test_parts_spread_cost_and_relevance_of_sound_data(arrays):
    looked = unhub.check(**arrays, target_ids=[f"item {row}" for row in range(40)], relevant="aligned")
    assert (looked.ready, looked.problems, looked.notes) == (True, (), ())
    assert list(looked.parts) == ["targets", "queries", "query_bank"]
    part = looked.parts["targets"]
    assert (part.rows, part.columns, part.dtype, part.first_id, part.unit) == (40, 16, "float32", "item 0", True)
    assert looked.relevant == (40, 1, 1)
    assert looked.spread.tau == unhub.fit("sn", **_of_fit(arrays)).method.tau
    assert looked.cost.whole_bytes == 60 * 40 * 4
    assert str(looked.cost.plan) == unhub.fit("sn", **_of_fit(arrays)).plan
    assert "ready" in looked.table()
    assert looked.to_dict()["files"]["query_bank"]["rows"] == 60
    assert repr(looked) == "Check(ready: targets 40 x 16, queries 40 x 16, query_bank 60 x 16)"


def _of_fit(arrays):
    return {name: arrays[name] for name in ("targets", "query_bank")}


def test_problems_come_together_and_in_pythons_words(arrays):
    arrays["targets"][3] = np.nan
    arrays["query_bank"] = np.concatenate([2 * arrays["query_bank"], np.zeros((1, 16), np.float32)])
    looked = unhub.check(**arrays, relevant=[0] * 40, query_weight=[1.0], memory="much")
    wanted = ("memory is 'much'", "targets has NaN", "query_bank has 1 zero vector", "query_bank is not of unit length")
    for words in (*wanted, "query_weight has shape (1,)"):
        assert sum(words in each for each in looked.problems) == 1, (words, looked.problems)
    assert len(looked.problems) == 5
    assert (looked.cost, looked.spread) == (None, None)
    assert repr(looked).startswith("Check(5 problems: targets 40 x 16")
    assert len(repr(looked).splitlines()) == 6


def test_every_array_is_opened_and_checked_once(tmp_path, arrays, monkeypatch):
    opened, checked = Counter(), Counter()
    open_rows, survey_vectors = galleries.open_rows, reader.survey_vectors

    def counting_open(source, *, name):
        opened[name] += 1
        return open_rows(source, name=name)

    def counting_survey(rows):
        checked[rows.name] += 1
        return survey_vectors(rows)

    monkeypatch.setattr(galleries, "open_rows", counting_open)
    for module in (inspection, reader):
        monkeypatch.setattr(module, "survey_vectors", counting_survey)
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    looked = unhub.check(**{name: str(tmp_path / f"{name}.npy") for name in arrays}, relevant="aligned")
    assert looked.ready
    assert opened == checked == dict.fromkeys(arrays, 1)


def test_a_dataset_with_several_banks_says_which_one_is_wrong(arrays):
    bank = arrays["query_bank"]
    banks = {"good": Bank(bank), "long": Bank(3 * bank), "test": Bank(arrays["queries"])}
    data = Dataset(queries=arrays["queries"], targets=arrays["targets"], banks=banks)
    looked = unhub.check(data)
    assert looked.problems[0].startswith("bank long: query_bank is not of unit length")
    assert "banks.good.queries" in looked.parts
    del data.banks["long"]
    (problem,) = unhub.check(data).problems
    assert problem.startswith("bank test: 40 of 40 test queries are also in query_bank")
    assert unhub.check(data, bank="test").cost.plan.rows == 40


def test_an_experiment_file_by_path_or_as_a_dataset(tmp_path, arrays):
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    file = Path(tmp_path / "e.toml")
    test = '[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\n'
    file.write_text(f'{test}[banks.val]\nqueries = "query_bank.npy"\n')
    looked = unhub.check(file)
    assert looked.ready
    assert list(looked.parts) == ["test.targets", "test.queries", "banks.val.queries"]
    np.save(tmp_path / "query_bank.npy", arrays["query_bank"][:, :5])
    problems = unhub.check(Dataset.open(file)).problems
    assert problems[0] == "banks.val.queries has dimension 5 but test.targets has 16; embed both with the same model."
    with pytest.raises(InputError, match=r"targets came beside .*e\.toml, which has its own; give one, not both"):
        unhub.check(file, targets=arrays["targets"])


def test_arguments_that_make_no_check_are_refused(arrays):
    with pytest.raises(InputError, match="check needs files or arrays, such as targets and query_bank"):
        unhub.check(metric="ip")
    with pytest.raises(InputError, match="tau is -1"):
        unhub.check(**arrays, tau=-1)
    with pytest.raises(InputError, match="did you mean query_bank"):
        unhub.check(querybank=arrays["query_bank"])


def test_embeddings_and_scores_together_are_a_problem(arrays):
    (problem,) = unhub.check(**_of_fit(arrays), scores=np.zeros((3, 40))).problems
    assert problem == "scores and targets came together; give matrices of scores or embeddings, not both."
