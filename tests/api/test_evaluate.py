"""evaluate, normalize and diagnose: what they promise, and what they refuse."""

import csv
import io
import json
import sys

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.banks import EmbeddingBank

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")


@pytest.fixture
def vectors(rng, unit_rows):
    targets = unit_rows(40, 16)
    near = targets[np.arange(80) % 40] + 1.5 * unit_rows(80, 16)
    queries = near / np.linalg.norm(near, axis=1, keepdims=True)
    return {"queries": queries.astype(np.float32), "targets": targets, "relevant": np.arange(80) % 40}


@pytest.fixture
def scores(vectors):
    return vectors["queries"] @ vectors["targets"].T


def test_embeddings_and_scores_give_the_same_table(vectors, scores):
    names = ["none", "is", "dis", "sn", "nnn", "csls", "gc", "nicdm", "mutual_proximity", "dsl"]
    one = unhub.evaluate(**vectors, methods=names, tau=0.1)
    two = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=names, tau=0.1)
    for name in names:
        assert one[name].values == pytest.approx(two[name].values)


def test_without_a_bank_every_corrected_row_is_transductive(vectors, unit_rows):
    alone = unhub.evaluate(**vectors, methods=["none", "sn", "hn"], tau=0.1)
    assert [alone[name].transductive for name in alone] == [False, True, True]
    for text in (alone.table(), alone.to_markdown(), alone.to_latex(), alone.to_csv(), alone.to_json()):
        assert "transductive" in text
    banked = unhub.evaluate(**vectors, query_bank=unit_rows(50, 16), methods=["none", "sn", "hn"], tau=0.1)
    assert [banked[name].transductive for name in banked] == [False, False, True]


def test_scores_of_a_bank_are_computed_once_whatever_the_number_of_methods(vectors, unit_rows, monkeypatch):
    rows_read = []
    read = EmbeddingBank.read

    def counted(self, start, stop):
        rows_read.append((id(self), stop - start))
        return read(self, start, stop)

    bank = unit_rows(600, 16)
    monkeypatch.setattr(EmbeddingBank, "read", counted)
    unhub.evaluate(**vectors, query_bank=bank, methods=["is"], tau=0.1)
    once = sum(rows for _, rows in rows_read)
    rows_read.clear()
    unhub.evaluate(**vectors, query_bank=bank, methods=["is", "sn", "nnn", "csls", "dn", "dis", "gc"], tau=0.1)
    assert sum(rows for _, rows in rows_read) == once


def test_both_directions(vectors, scores):
    both = unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods=["none", "sn"], tau=0.1, direction="both"
    )
    sets = [set(np.flatnonzero(vectors["relevant"] == j)) for j in range(40)]
    turned = unhub.evaluate(scores=scores.T, relevant=sets, methods=["none", "sn"], tau=0.1)
    assert both.reverse["sn"].values == pytest.approx(turned["sn"].values)
    assert both.reverse.settings["direction"] == "reverse"
    assert len(list(csv.reader(io.StringIO(both.to_csv())))) == 5


def test_banks_change_places_in_the_reverse_direction(vectors, unit_rows):
    bank, second = unit_rows(30, 16), unit_rows(20, 16)
    back = unhub.evaluate(
        **vectors, query_bank=bank, target_bank=second, methods=["dbsn"], tau=0.1, direction="reverse"
    )
    sets = [set(np.flatnonzero(vectors["relevant"] == j)) for j in range(40)]
    straight = unhub.evaluate(
        queries=vectors["targets"], targets=vectors["queries"], relevant=sets,
        query_bank=second, target_bank=bank, methods=["dbsn"], tau=0.1,
    )  # fmt: skip
    assert back["dbsn"].values == pytest.approx(straight["dbsn"].values)


def test_grouped_targets_take_the_best_of_a_group(vectors, scores):
    back = unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods=["none"], direction="reverse", group_targets="max"
    )
    groups = np.stack([scores.T[:, vectors["relevant"] == j].max(axis=1) for j in range(40)], axis=1)
    expected = unhub.evaluate(scores=groups, relevant=np.arange(40), methods=["none"])
    assert back["none"]["R@1"] == expected["none"]["R@1"]
    assert back["none"]["MnR"] == pytest.approx(expected["none"]["MnR"])


def test_self_pairs_are_masked_before_fitting_and_before_ranking(unit_rows):
    x = unit_rows(30, 8)
    labels = np.arange(30) // 3
    same = [set(np.flatnonzero(labels == label)) - {i} for i, label in enumerate(labels)]
    names = [name for name in unhub.METHODS if name not in ("dualis", "dualdis", "dbsn")]
    result = unhub.evaluate(scores=x @ x.T, relevant=same, methods=names, ignore_self=True, tau=0.1)
    masked = x @ x.T
    np.fill_diagonal(masked, -np.inf)
    tau, g = 0.1, np.zeros(30)
    for _ in range(10):
        f = -tau * np.log(np.exp((masked + g) / tau).sum(axis=1))
        g = -tau * np.log(np.exp((masked + f[:, None]) / tau).sum(axis=0))
    assert np.allclose(result["sn"].bias, g - g.mean(), atol=1e-5)
    assert all(i not in row for i, row in enumerate(result["none"].top))
    for name in names:
        assert all(np.isfinite(value) for value in result[name].values.values()), name


def test_everything_means_everything_that_can_run(scores, vectors):
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=unhub.METHODS, tau=0.1)
    assert set(result.skipped) == {"dualis", "dualdis", "dbsn"}
    assert set(result) | set(result.skipped) == set(unhub.METHODS)
    with pytest.raises(InputError, match="dbsn needs a target bank"):
        unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=["dbsn"])


def test_the_same_method_twice_is_told_apart(scores, vectors):
    result = unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods=[unhub.methods.SN(tau=0.1), unhub.methods.SN(tau=0.2)]
    )
    assert list(result) == ["sn(tau=0.1)", "sn(tau=0.2)"]


def test_json_has_the_schema_of_the_design(scores, vectors):
    data = json.loads(unhub.evaluate(scores=scores, relevant=vectors["relevant"], tau=0.1).to_json())
    assert data["schema_version"] == 1
    assert data["methods"]["sn"]["R@1"] == data["methods"]["sn"]["hit_rate@1"]
    low, high = data["intervals"]["sn"]["R@1"]
    assert low <= data["methods"]["sn"]["R@1"] <= high
    assert data["details"]["sn"]["settings"]["tau"] == 0.1
    assert data["details"]["sn"]["status"] == "iterations reached"


def test_comparison_is_paired_and_adjusted(scores, vectors):
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=["none", "is", "sn"], tau=0.1)
    against = {each.method: each for each in result.compare()}
    assert against["sn"].interval.value == pytest.approx(result["sn"]["R@1"] - result["none"]["R@1"])
    assert against["sn"].adjusted >= against["sn"].p_value
    assert {each.p_value for each in result.compare(on="MnR")} == {None}
    with pytest.raises(InputError, match=r"'mrr' cannot be compared here; means over queries are R@1, R@5, R@10, MnR"):
        result.compare(on="mrr")
    with pytest.raises(InputError, match="'MdR' cannot be compared here"):
        result.compare(on="MdR")


def test_metrics_by_name(scores, vectors):
    result = unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods="none", metrics=["R@3", "mrr", "ndcg@5", "gini@20"]
    )
    assert list(result["none"].values) == ["R@3", "mrr", "ndcg@5", "gini@20"]
    with pytest.raises(InputError, match="'R@1' was not asked for; this evaluation has R@3"):
        result["none"]["R@1"]
    with pytest.raises(InputError, match="'sn' was not evaluated"):
        result["sn"]
    with pytest.raises(InputError, match="there is no metric 'precission'"):
        unhub.evaluate(scores=scores, relevant=vectors["relevant"], metrics=["precission"])


def test_latex_escapes_names_and_bolds_the_best(scores, vectors):
    text = unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods=["none", "mutual_proximity", "sn"], tau=0.1
    ).to_latex()
    assert r"mutual\_proximity" in text
    assert r"\textbf{" in text
    assert text.count(r"\\") == 4


def test_the_callers_arrays_stay_as_they_are(scores, vectors):
    before = scores.copy()
    unhub.evaluate(
        scores=scores, relevant=vectors["relevant"], methods=unhub.METHODS, tau=0.1, cross_bank_scores=scores.copy()
    )
    for name in unhub.METHODS:
        if name not in ("dualis", "dualdis", "dbsn"):
            unhub.normalize(name, scores=scores)
    assert (scores == before).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"relevant": np.arange(80) % 40 + 1}, "looks 1-based"),
        ({"relevant": np.arange(12)}, "12"),
        ({"relevant": np.arange(40)}, "looks transposed: pass scores.T, or swap queries and targets"),
        ({"direction": "up"}, "direction is 'up'; use 'forward', 'reverse' or 'both'"),
        ({"ties": "kind"}, "kind"),
        ({"group_targets": "mean"}, "group_targets is 'mean'; use 'max'"),
        ({"methods": []}, "methods is empty; name at least one of"),
        ({"methods": ["none"], "tau": 0.1}, "no method of none has the hyper-parameter 'tau'"),
        ({"resamples": 0}, "resamples is 0"),
        ({"scores": np.eye(3)}, "scores and queries came together"),
        ({"queries": None}, "queries is missing; give queries and targets"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(change, sentence, vectors):
    with pytest.raises(InputError, match=sentence):
        unhub.evaluate(**{**vectors, **change})


def test_a_transposed_matrix_is_noticed(scores):
    with pytest.raises(
        InputError, match=r"there are 80 queries and 40 targets but relevant has 40 entries, .* pass scores.T"
    ):
        unhub.evaluate(scores=scores, relevant=np.arange(40))


def test_test_queries_in_the_bank_are_refused_unless_meant(vectors, unit_rows):
    bank = np.concatenate((unit_rows(20, 16), vectors["queries"][[5, 8]]))
    with pytest.raises(
        InputError, match=r"2 of 80 test queries are also in query_bank \(first rows: 5, 8\).*--allow-overlap"
    ):
        unhub.evaluate(**vectors, query_bank=bank, tau=0.1)
    unhub.evaluate(**vectors, query_bank=bank, tau=0.1, allow_overlap=True)


def test_diagnose_counts_every_target(scores):
    diagnosis = unhub.diagnose(scores=scores)
    assert diagnosis.counts[1].shape == (40,)
    assert diagnosis.counts[1].sum() == 80
    assert diagnosis.hubs(1, k=1)[0].count == diagnosis["max_n@1"]
    assert json.loads(diagnosis.to_json())["hubness"]["skew@10"] == diagnosis["skew@10"]
    assert "targets take" in diagnosis.table()
    with pytest.raises(InputError, match="k is 3; a diagnosis counts the first 1, 5, 10"):
        diagnosis.hubs(k=3)


def test_normalize_of_a_bias_is_score_plus_bias(scores):
    assert np.allclose(
        unhub.normalize("sn", scores=scores, tau=0.1), scores + unhub.fit("sn", scores=scores, tau=0.1).bias, atol=1e-6
    )


def test_a_missing_package_skips_its_methods_only_when_everything_was_asked_for(scores, vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setitem(sys.modules, "ot.smooth", None)
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=unhub.METHODS, tau=0.1)
    assert {"otn", "l2n", "sparse_k"} <= set(result.skipped)
    assert "pip install 'unhub[ot]'" in result.skipped["otn"]
    with pytest.raises(unhub.MissingDependencyError, match=r"pip install 'unhub\[ot\]'"):
        unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=["otn"])


def test_a_plan_that_cannot_be_is_told():
    scores = np.random.default_rng(0).random((5, 8)).astype(np.float32)
    with pytest.warns(unhub.UnhubWarning, match="the plan misses the share of a query by up to"):
        unhub.normalize("sparse_k", scores=scores, k=1)
