"""evaluate, normalize and diagnose: what they promise, and what they refuse."""

import csv
import io
import json
import sys
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.core.execution import Execution
from unhub.scores import EmbeddingScores, spread

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


def test_scores_of_a_bank_are_computed_once_whatever_the_number_of_methods(vectors, unit_rows, calls_of):
    bank, many = unit_rows(600, 16), ["is", "sn", "nnn", "csls", "dn", "dis", "gc"]
    rows_read = []
    for methods in (["is"], many):
        with calls_of(EmbeddingScores.read) as reads:
            unhub.evaluate(**vectors, query_bank=bank, methods=methods, tau=0.1)
        rows_read.append(sum(read["stop"] - read["start"] for read in reads))
    assert rows_read[0] == rows_read[1]


def test_the_spread_of_a_bank_is_measured_once_whatever_the_number_of_methods(vectors, unit_rows, calls_of):
    with calls_of(spread) as measured:
        unhub.evaluate(**vectors, query_bank=unit_rows(600, 16), methods=["none", "is", "dis", "sn", "dsl"])
    assert len(measured) == 1


@pytest.mark.parametrize("size", [15, 90])
def test_so_are_those_of_a_dual_bank(size, vectors, unit_rows, calls_of):
    names = ["is", "dualis", "dualdis", "sn", "dbsn"]
    banks = {"query_bank": unit_rows(600, 16), "target_bank": unit_rows(size, 16)}
    with calls_of(EmbeddingScores.read) as reads:
        unhub.evaluate(**vectors, **banks, methods=names, strength=1, executor=Execution(block_rows=64))
    rows_read = Counter()
    for read in reads:
        rows_read[read["self"].shape] += read["stop"] - read["start"]
    sampled = 16 * 40
    assert rows_read == {
        (80, 40): 80, (600, 40): pytest.approx(600, abs=sampled), (600, size): 600, (size, 40): size,
    }  # fmt: skip


def test_memory_bounds_what_is_kept(unit_rows):
    queries, targets, bank, second = unit_rows(400, 8), unit_rows(900, 8), unit_rows(2000, 8), unit_rows(900, 8)
    given = {"queries": queries, "targets": targets, "query_bank": bank, "target_bank": second}
    whole = 4 * (2000 * 1800 + 400 * 900 + 900 * 900)
    peaks = {}
    for memory in ("2MB", "1GB"):
        tracemalloc.start()
        unhub.evaluate(**given, relevant=np.arange(400), methods=["is", "dbsn", "dualis"], memory=memory, resamples=1)
        peaks[memory] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["1GB"] > whole
    assert peaks["2MB"] < 6_000_000 < whole


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
        ({"relevant": np.arange(40)}, "looks transposed: transpose the scores, or swap queries and targets"),
        ({"direction": "up"}, "direction is 'up'; use 'forward', 'reverse' or 'both'"),
        ({"ties": "kind"}, "kind"),
        ({"group_targets": "mean"}, "group_targets is 'mean'; use 'max'"),
        ({"methods": []}, "methods is empty; name at least one of"),
        ({"methods": ["nnn", "csls"], "tau": 0.1}, "no method of nnn, csls has the hyper-parameter tau"),
        ({"seed": -1}, "seed is -1; give a whole number of at least 0"),
        ({"ignore_self": True, "group_targets": "max"}, "group_targets and ignore_self exclude each other"),
        ({"query_bank_scores": np.eye(40)}, "query_bank_scores and queries came together"),
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
        InputError, match=r"there are 80 queries and 40 targets but relevant has 40 entries, .* transpose the scores"
    ):
        unhub.evaluate(scores=scores, relevant=np.arange(40))


def test_test_queries_in_the_bank_are_refused_unless_meant(vectors, unit_rows):
    bank = np.concatenate((unit_rows(20, 16), vectors["queries"][[5, 8]]))
    with pytest.raises(
        InputError, match=r"2 of 80 test queries are also in query_bank \(first rows: 5, 8\).*allow_overlap=True"
    ):
        unhub.evaluate(**vectors, query_bank=bank, tau=0.1)
    allowed = unhub.evaluate(**vectors, query_bank=bank, tau=0.1, allow_overlap=True)
    assert [allowed[name].transductive for name in allowed] == [False, True, True]
    assert "2 test queries are also in the bank" in allowed.table()


def test_overlap_is_seen_whatever_the_length_and_in_score_matrices(vectors, scores):
    given = {key: value for key, value in vectors.items() if key != "queries"}
    bank = 3 * vectors["queries"][:4]
    with pytest.raises(InputError, match="4 of 80 test queries are also in query_bank"):
        unhub.evaluate(**given, queries=vectors["queries"], query_bank=bank, normalize=True)
    with pytest.raises(InputError, match="3 of 80 test queries are also in query_bank_scores"):
        unhub.evaluate(scores=scores, relevant=vectors["relevant"], query_bank_scores=scores[:3])


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


@pytest.mark.parametrize("bank", [5, 400])
def test_normalize_warns_where_the_correction_is_refused(scores, bank):
    noise = np.random.default_rng(0).normal(0, 0.2, (bank, 40)).astype(np.float32)
    given = {"scores": scores, "query_bank_scores": noise}
    with pytest.warns(unhub.UnhubWarning) as caught:
        unchanged = unhub.normalize("sn", **given)
    np.testing.assert_allclose(unchanged, scores, atol=1e-6)
    sentences = [str(each.message) for each in caught if str(each.message).startswith("REFUSE: ")]
    assert len(sentences) == 1
    assert sentences[0].endswith("So the scores are unchanged; strength=1 gives the whole correction.")


@pytest.mark.parametrize(("method", "more"), [("sn", {"strength": 1}), ("none", {}), ("dis", {}), ("hn", {})])
def test_normalize_does_not_warn_where_nothing_is_refused(scores, rng, method, more):
    bank = {} if method == "hn" else {"query_bank_scores": rng.normal(0, 0.2, (60, 40)).astype(np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", unhub.UnhubWarning)
        unhub.normalize(method, scores=scores, **bank, **more)


def test_a_missing_package_skips_its_methods_only_when_everything_was_asked_for(scores, vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setitem(sys.modules, "ot.smooth", None)
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=unhub.METHODS, tau=0.1)
    assert "otn" in result.skipped
    assert {"l2n", "sparse_k"} <= set(result.rows), "they have a solver of our own"
    assert "pip install 'unhub[ot]'" in result.skipped["otn"]
    with pytest.raises(unhub.MissingDependencyError, match=r"pip install 'unhub\[ot\]'"):
        unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=["otn"])


def test_a_plan_that_cannot_be_is_told():
    scores = np.random.default_rng(0).random((5, 8)).astype(np.float32)
    with pytest.warns(unhub.UnhubWarning, match=r"the plan of sparse_k\(k=1\) misses the share of a query by up to"):
        unhub.normalize("sparse_k", scores=scores, k=1)


def test_strength_reaches_the_ranking_and_the_bias(scores, vectors):
    given = {"scores": scores, "relevant": vectors["relevant"], "tau": 0.1}
    nothing = unhub.evaluate(**given, methods=["none", "sn"], strength=0.0)
    assert nothing["sn"].values == nothing["none"].values
    half = unhub.evaluate(**given, methods=["sn"], strength=0.5)["sn"]
    assert np.allclose(half.bias, unhub.fit("sn", scores=scores, tau=0.1, strength=0.5).served_bias, atol=1e-7)


def test_intervals_follow_the_seed_and_the_clusters(scores, vectors):
    given = {"scores": scores, "relevant": vectors["relevant"], "methods": "none"}
    first, again, other = (unhub.evaluate(**given, seed=seed)["none"].intervals["R@1"] for seed in (1, 1, 2))
    assert first == again != other
    twice = np.concatenate((scores, scores))
    doubled = unhub.evaluate(scores=twice, relevant=np.tile(vectors["relevant"], 2), methods="none", seed=1)
    assert doubled["none"].intervals["R@1"] == first


def test_p_values_are_adjusted_for_being_several(scores, vectors):
    names = ["none", "is", "sn", "csls", "dn"]
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=names, tau=0.3)
    found = result.compare()
    assert [each.adjusted for each in found] == pytest.approx(unhub.metrics.holm([each.p_value for each in found]))


def test_weights_that_mean_nothing_to_a_method_are_refused(scores, vectors):
    given = {"scores": scores, "relevant": vectors["relevant"], "target_prior": np.linspace(1, 2, 40), "tau": 0.1}
    with pytest.raises(InputError, match="target_prior means nothing to nnn; leave it out, or use is"):
        unhub.evaluate(**given, methods=["is", "nnn"])
    with pytest.raises(InputError, match="query_weight means nothing to otn"):
        unhub.normalize("otn", scores=scores, query_weight=np.ones(80))
    lenient = unhub.evaluate(**given, methods=unhub.METHODS)
    assert "target_prior means nothing" in lenient.skipped["nnn"]
    assert {"none", "is", "sn"} <= set(lenient)


def test_numbers_of_numpy_are_numbers(scores, vectors):
    given = {"scores": scores, "relevant": vectors["relevant"]}
    result = unhub.evaluate(**given, methods=["sn", "nnn"], tau=np.float32(0.125), k=np.int64(5), seed=np.int64(2))
    assert json.loads(result.to_json())["details"]["sn"]["settings"]["tau"] == 0.125


def test_queries_without_an_answer_are_left_out_on_request(scores):
    sets = [{0}, set(), *({j % 40} for j in range(2, 80))]
    with pytest.raises(InputError, match="allow_empty=True"):
        unhub.evaluate(scores=scores, relevant=sets, methods="none")
    assert 0 <= unhub.evaluate(scores=scores, relevant=sets, methods="none", allow_empty=True)["none"]["R@1"] <= 100


def test_a_method_given_twice_the_same_or_with_other_settings(scores, vectors):
    methods = [unhub.methods.SN(tau=0.1, tol=1e-3), unhub.methods.SN(tau=0.1), unhub.methods.SN(tau=0.1)]
    result = unhub.evaluate(scores=scores, relevant=vectors["relevant"], methods=methods)
    assert list(result) == ["sn(iterations=1000, tol=0.001)", "sn(iterations=10, tol=None)",
                            "sn(iterations=10, tol=None)#2"]  # fmt: skip


@pytest.mark.filterwarnings("always::unhub.UnhubWarning")
def test_what_a_plan_misses_is_a_note_and_one_warning():
    scores = np.random.default_rng(2).random((9, 4))
    sentence = "the plan of sparse_k(k=1) misses the share of a query by up to"
    with pytest.warns(unhub.UnhubWarning) as shown:
        result = unhub.evaluate(scores=scores, relevant=np.arange(9) % 4, methods=["none", "sparse_k"], resamples=10)
    assert [sentence in str(each.message) for each in shown] == [True]
    assert sentence in result["sparse_k"].warnings[0]
    assert result["none"].notes == ()
    assert "sparse_k: most of a plan is zero" in result.table()
    with pytest.warns(unhub.UnhubWarning) as shown:
        unhub.normalize("sparse_k", scores=scores)
    assert [sentence in str(each.message) for each in shown] == [True]
