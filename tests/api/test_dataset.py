"""The user's data, once: every array opened and checked once, also by many methods and in both directions."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import unhub
from unhub.dataset import Bank, Dataset
from unhub.foundation.errors import InputError


def unit(rng, rows, dim=16):
    vectors = rng.normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    arrays = {"queries": unit(rng, 40), "targets": unit(rng, 40), "query_bank": unit(rng, 60)}
    arrays["target_bank"] = unit(rng, 50)
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return {name: str(tmp_path / f"{name}.npy") for name in arrays}


def test_a_fit_opens_and_checks_each_array_once(files, counted):
    banks = {name: files[name] for name in ("targets", "query_bank", "target_bank")}
    with counted() as (opened, checked):
        unhub.fit("dbsn", **banks, tau=0.1)
    assert opened == checked == dict.fromkeys(banks, 1)


def test_an_evaluation_of_all_methods_both_ways_opens_and_checks_each_array_once(files, counted):
    given = files | {"relevant": np.arange(40), "methods": unhub.METHODS, "direction": "both"}
    with counted() as (opened, checked):
        result = unhub.evaluate(**given, tau=0.1, resamples=10)
    assert result.reverse is not None
    assert opened == checked == dict.fromkeys(files, 1)


def test_matrices_are_opened_and_checked_once(tmp_path, counted):
    rng = np.random.default_rng(4)
    sizes = {"scores": (20, 30), "query_bank_scores": (25, 30), "cross_bank_scores": (25, 10)}
    paths = {}
    for name, shape in (sizes | {"target_bank_scores": (10, 30)}).items():
        paths[name] = str(tmp_path / f"{name}.npy")
        np.save(paths[name], rng.uniform(-0.5, 0.5, size=shape).astype(np.float32))
    given = paths | {"relevant": np.arange(20), "methods": ["none", "is", "dualis", "dbsn"]}
    with counted() as (opened, checked):
        unhub.evaluate(**given, tau1=0.1, resamples=10)
    assert opened == checked == dict.fromkeys(paths, 1)


def test_many_tasks_of_one_dataset_open_each_array_once(files, counted):
    banks = {"val": Bank(files["query_bank"], files["target_bank"]), "half": Bank(np.load(files["query_bank"])[:30])}
    data = Dataset(queries=files["queries"], targets=files["targets"], relevant="aligned", banks=banks)
    tasks = [(way, bank) for bank in ("val", "half", None) for way in data.directions_of(bank).values()]
    with counted() as (opened, checked):
        for each in tasks * 2:
            assert data.task(*each).relevance.queries == 40
        data.items()
        data.sample(400, seed=1).task()
    assert opened == checked == {"queries": 1, "targets": 1, "query_bank": 2, "target_bank": 1}


def test_a_dataset_is_what_the_keywords_say(files):
    data = Dataset(
        queries=files["queries"], targets=files["targets"], relevant=np.arange(40),
        banks={"log": Bank(files["query_bank"], files["target_bank"])},
    )  # fmt: skip
    given = {name: files[name] for name in ("targets", "query_bank", "target_bank")}
    np.testing.assert_array_equal(
        unhub.fit("dbsn", data, tau=0.1).bias, unhub.fit("dbsn", **given, tau=0.1).bias
    )  # the only bank is taken
    both = unhub.evaluate(data, bank="log", methods=["none", "sn"], tau=0.1, resamples=10)
    keywords = unhub.evaluate(**files, relevant=np.arange(40), methods=["none", "sn"], tau=0.1, resamples=10)
    assert both.to_dict()["methods"] == keywords.to_dict()["methods"]
    own = unhub.evaluate(data, bank="test queries", methods=["none", "sn"], tau=0.1, resamples=10)
    assert own["sn"].transductive
    assert not both["sn"].transductive
    assert (
        unhub.diagnose(data)["skew@10"] == unhub.diagnose(queries=files["queries"], targets=files["targets"])["skew@10"]
    )


def test_it_travels_by_address(files, tmp_path):
    mapped = np.load(files["query_bank"], mmap_mode="r")
    data = Dataset(
        queries=files["queries"], targets=np.load(files["targets"], mmap_mode="r"), relevant="aligned",
        banks={"log": Bank(mapped[10:])},
    )  # fmt: skip
    data.task("forward", "log")
    whole = pickle.dumps(data)
    assert len(whole) < 2_500
    (tmp_path / "data.pickle").write_bytes(whole)
    program = """
        import pickle, sys
        data = pickle.load(open(sys.argv[1], "rb"))
        scores = data.task("forward", "log").banks.queries
        print(data.shape, scores.shape, float(scores.read(0, 1)[0, 0]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "data.pickle")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first = float(data.task("forward", "log").banks.queries.read(0, 1)[0, 0])
    assert done.stdout.strip() == f"(40, 40) (50, 40) {first}"


def test_a_parquet_column_travels_as_its_path(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    vectors = unit(np.random.default_rng(0), 3_000)
    table = arrow.table({"emb": arrow.FixedSizeListArray.from_arrays(vectors.ravel(), 16)})
    parquet.write_table(table, tmp_path / "x.parquet")
    place = f"{tmp_path / 'x.parquet'}::emb"
    for source in (place, unhub.io.open_rows(place, name="targets")):
        packed = pickle.dumps(Dataset(targets=source, queries=vectors[:2]))
        assert len(packed) < 2_500
        assert pickle.loads(packed).shape == (2, 3_000)


def test_shards_are_the_rows_of_the_bank(files):
    data = Dataset(targets=files["targets"], query_bank=files["query_bank"], query_weight=None)
    whole = data.task("forward", "bank", fit=True).banks.queries.read(0, 60)
    parts = [data.shard(i, 7).task("forward", "bank", fit=True).banks.queries for i in range(7)]
    found = np.concatenate([part.read(0, part.shape[0]) for part in parts])
    np.testing.assert_allclose(found, whole, atol=3e-7)  # a product of fewer rows may sum in another order


def test_a_sample_keeps_the_type_and_says_what_was_left_out(files):
    rng = np.random.default_rng(0)
    targets, queries = unit(rng, 300).astype(np.float16), unit(rng, 900).astype(np.float16)
    data = Dataset(queries=queries, targets=targets, relevant=rng.integers(0, 300, 900), query_bank=unit(rng, 800))
    sample = data.sample(75_000, seed=2)
    assert sample.shape == (250, 300)
    assert sample.notes == ("This is a sample: 250 of 900 queries, drawn at random.",)
    task = sample.task("forward", "bank")
    assert task.queries.dtype == np.float16
    np.testing.assert_array_equal(task.queries[:], queries[sample.drawn["queries"]])
    assert task.relevance.queries == 250
    assert data.sample(75_000, seed=2).drawn["queries"].tolist() == sample.drawn["queries"].tolist()


def test_an_experiment_file_is_a_dataset(tmp_path, files):
    (tmp_path / "e.toml").write_text(
        '[dataset]\nname = "set"\ndirections = ["t2v", "v2t"]\n'
        '[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\n'
        '[banks.val]\nqueries = "query_bank.npy"\n[settings]\ntau = 0.1\n'
    )
    data = unhub.Dataset.open(tmp_path / "e.toml")
    assert (data.name, data.kind, data.shape, list(data.banks)) == ("set", "vectors", (40, 40), ["val"])
    assert data.directions_of() == {"t2v": "forward", "v2t": "reverse"}
    assert data.directions_of("val") == {"t2v": "forward"}
    assert data.task("v2t").direction == "reverse"
    np.save(files["query_bank"], np.load(files["queries"])[:9])
    with pytest.raises(InputError) as caught:
        unhub.Dataset.open(tmp_path / "e.toml").task("t2v", "val")
    assert str(caught.value) == (
        f"{tmp_path / 'e.toml'}: the bank val, t2v: 9 of 40 test queries are also in banks.val.queries (first rows: "
        "0, 1, 2, 3, 4); take them out, or allow it with allow_overlap = true in the section [settings]."
    )


def test_a_mistyped_argument_is_answered_with_the_right_name():
    with pytest.raises(InputError, match=r"^fit has no argument target; did you mean targets"):
        unhub.fit("sn", target=np.eye(3), query_bank=np.eye(3))
    with pytest.raises(InputError, match="evaluate has no argument relevants; did you mean relevant"):
        unhub.evaluate(scores=np.eye(3), relevants=[0, 1, 2])
    with pytest.raises(InputError, match="diagnose has no argument query; did you mean queries"):
        unhub.diagnose(query=np.eye(3), targets=np.eye(3))
    with pytest.raises(InputError, match="normalize has no argument score; did you mean scores"):
        unhub.normalize("is", score=np.eye(3))


def test_several_banks_must_be_chosen_from(files):
    data = Dataset(targets=files["targets"], banks={"a": Bank(files["query_bank"]), "b": Bank(files["queries"])})
    with pytest.raises(InputError, match="bank is missing; choose one of a, b, test queries"):
        unhub.fit("is", data, tau=0.1)
    with pytest.raises(InputError, match="bank is 'c'; there are a, b, test queries"):
        unhub.fit("is", data, bank="c", tau=0.1)
    with pytest.raises(InputError, match="normalize came beside a Dataset"):
        unhub.fit("is", data, bank="a", normalize=True, tau=0.1)


def test_a_saved_correction_is_judged_as_it_is(files, tmp_path):
    given = {"targets": files["targets"], "query_bank": files["query_bank"]}
    correction = unhub.fit("sn", **given, tau=0.2, strength=0.5)
    correction.save(tmp_path / "c.unhub")
    for which in (correction, tmp_path / "c.unhub"):
        result = unhub.evaluate(queries=files["queries"], relevant=np.arange(40), correction=which, resamples=10)
        assert list(result) == ["none", "sn"]
        np.testing.assert_allclose(result["sn"].bias, correction.served_bias, rtol=1e-6)
        assert result["sn"].settings == correction.settings
        assert not result["sn"].transductive
    bank = np.load(files["query_bank"])
    seen = unhub.evaluate(queries=bank[:40], relevant=np.arange(40), correction=correction, resamples=10)
    assert seen["sn"].transductive
    assert seen.settings["test_queries_in_bank"] == 40


def test_one_query_gives_flat_hits(files):
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], tau=0.1)
    queries = np.load(files["queries"])
    many, one = correction.search(queries, k=4), correction.search(queries[3], k=4)
    assert one.ids.shape == one.scores.shape == (4,)
    np.testing.assert_array_equal(one.rows, many.rows[3])
    assert one.to_dict()["ids"] == many.rows[3].tolist()
    assert correction.augment_queries(queries[3]).shape == (17,)
    assert len(repr(many)) < 200


def test_results_show_small_and_as_tables(files):
    pytest.importorskip("pandas")
    result = unhub.evaluate(**files, relevant=np.arange(40), tau=0.1, direction="both", resamples=10)
    diagnosis = unhub.diagnose(queries=files["queries"], targets=files["targets"])
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], tau=0.1)
    for each in (result, result["sn"], diagnosis, correction):
        assert len(repr(each)) < 400
        assert "array" not in repr(each)
    for each in (result, diagnosis, correction):
        assert "<table>" in each._repr_html_()
        assert "<svg" in each._repr_html_()
    assert result.to_frame().loc[("forward", "sn"), "R@1"] == result["sn"]["R@1"]
    assert diagnosis.to_frame().loc["skew", 10] == diagnosis["skew@10"]
    assert correction.to_frame()["bias"].tolist() == correction.bias.tolist()


def test_results_draw_themselves(files):
    pytest.importorskip("matplotlib")
    result = unhub.evaluate(**files, relevant=np.arange(40), methods=["none", "sn"], tau=0.1, resamples=10)
    diagnosis = unhub.diagnose(queries=files["queries"], targets=files["targets"])
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], tau=0.1)
    figure = result.plot(k=1)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no correction", "SN"]
    assert figure.axes[0].get_xlabel() == "queries that have the target first"
    before = figure.axes[0].patches[0].get_data()
    often = np.bincount(result["none"].top[:, 0], minlength=40)
    assert np.array_equal(before.values, np.maximum(np.histogram(often, before.edges)[0], 0.5))
    alone = diagnosis.plot(k=1).axes[0].patches[0].get_data()
    assert np.array_equal(alone.values[: len(before.values)], before.values[: len(alone.values)])
    assert sum(bar.get_height() for bar in correction.plot().axes[0].patches) == 40
    with pytest.raises(InputError, match="k is 7; a diagnosis counts the first 1, 5, 10"):
        diagnosis.plot(k=7)


def test_hits_show_what_there_is(files):
    correction = unhub.fit("is", targets=files["targets"], query_bank=files["query_bank"], tau=0.1)
    one, many = correction.search(np.load(files["queries"])[0], k=3), correction.search(files["queries"], k=3)
    assert "…" not in repr(one)
    assert repr(one).startswith("Hits(3 hits: ")
    assert repr(many).startswith("Hits(40 queries x 3: ")
    assert repr(many).endswith(", …)")
