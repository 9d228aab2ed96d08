"""Metrics by name: what exists, what a typo is told, and a ranking summed up."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import unhub
import unhub.metrics
from unhub.foundation.errors import InputError
from unhub.metrics import (
    DEFAULT_METRICS,
    HUBNESS_METRICS,
    METRICS,
    Ranking,
    Relevance,
    depth_needed,
    metric,
    per_query,
    rank,
    sparsity,
    summarise,
)

# Ranks 1, 2, 3 and 6 in a gallery of 6.
SCORES = np.array([[6, 5, 4, 3, 2, 1]] * 4, dtype=float)
RELEVANCE = Relevance.from_index([0, 1, 2, 5], gallery=6)


@pytest.fixture
def ranking():
    return rank(SCORES, RELEVANCE)


def test_a_summary_by_hand(ranking):
    names = ["R@1", "R@5", "R@10", "MdR", "MnR", "gmean", "mrr", "recall@2", "antihub@1", "max_n@1"]
    assert summarise(ranking, names) == pytest.approx(
        {
            "R@1": 25.0,
            "R@5": 75.0,
            "R@10": 100.0,
            "MdR": 2.5,  # not floored
            "MnR": 3.0,
            "gmean": 100 * (0.25 * 0.75 * 1.0) ** (1 / 3),
            "mrr": 100 * (1 + 1 / 2 + 1 / 3 + 1 / 6) / 4,
            "recall@2": 50.0,
            "antihub@1": 100 * 5 / 6,
            "max_n@1": 4.0,
        }
    )


def test_every_registered_metric_works_under_both_names_and_averages_its_queries(ranking):
    for name, each in METRICS.items():
        value = summarise(ranking, [name])[name]
        assert summarise(ranking, [each.json_name]) == {each.json_name: value}
        assert isinstance(value, float)
        values = per_query(ranking, name)
        if values is not None and name != "MdR":
            assert value == pytest.approx(values.mean() * (100 if each.percent else 1))


def test_rates_are_in_percent_and_nothing_else_is():
    assert {name.partition("@")[0] for name, each in METRICS.items() if each.percent} == {
        "R", "recall", "ndcg", "mrr", "map", "gmean", "antihub",
    }  # fmt: skip


def test_values_per_query(ranking):
    assert per_query(ranking, "R@2").tolist() == [1, 1, 0, 0]
    assert per_query(ranking, "MdR").tolist() == per_query(ranking, "MnR").tolist() == [1, 2, 3, 6]
    assert per_query(ranking, "skew@1") is None
    assert per_query(ranking, "gmean") is None


def test_queries_that_are_not_judged_count_for_hubness_only():
    relevance = Relevance.from_sets([{0}, set(), {1}], gallery=3, allow_empty=True)
    ranking = rank(np.array([[3.0, 2, 1]] * 3), relevance)
    assert summarise(ranking, ["R@1", "MdR", "max_n@1"]) == {"R@1": 50.0, "MdR": 1.5, "max_n@1": 3.0}


def test_the_default_metrics_show_hubness_at_all_three_k():
    assert set(DEFAULT_METRICS) <= set(METRICS)
    assert {"R@1", "R@5", "R@10", "MdR", "MnR", "gmean", "skew@1", "skew@5", "skew@10"} <= set(DEFAULT_METRICS)
    assert set(HUBNESS_METRICS) <= set(METRICS)


def test_names_with_a_number_are_read():
    assert metric("R@50").json_name == "hit_rate@50"
    assert metric("skew@3").depth == 3
    assert metric("max N_7").name == "max_n@7"
    assert metric("median_rank").name == "MdR"
    assert metric("R@1").larger_is_better
    assert metric("MnR").larger_is_better is False
    assert metric("skew@1").larger_is_better is None


def test_how_deep_a_ranking_must_be():
    assert depth_needed(["R@100", "skew@3", "gini@12"]) == 12
    assert depth_needed(["MdR"]) == 1
    assert depth_needed([]) == 1
    assert depth_needed() == 10


LISTED = (
    "the metrics are R@k, recall@k, ndcg@k, skew@k, antihub@k, max_n@k, robin_hood@k, gini@k, mrr, map, MdR, MnR, gmean"
)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("recal@7", f"there is no metric 'recal@7', did you mean 'recall@7'? {LISTED}"),
        ("rr@1", f"there is no metric 'rr@1', did you mean 'mrr'? {LISTED}"),
        ("medr", f"there is no metric 'medr', did you mean 'MdR'? {LISTED}"),
        ("skewness", f"there is no metric 'skewness', did you mean 'skew@10'? {LISTED}"),
        ("xyz", f"there is no metric 'xyz'; {LISTED}"),
        ("mrr@10", f"there is no metric 'mrr@10', did you mean 'mrr'? {LISTED}"),
        ("R@0", f"metric 'R@0' needs a whole number from 1 on after the @, such as 'R@10'; {LISTED}"),
        ("ndcg", f"metric 'ndcg' needs a whole number from 1 on after the @, such as 'ndcg@10'; {LISTED}"),
    ],
)
def test_a_typo_lists_what_exists(name, sentence):
    with pytest.raises(InputError) as raised:
        metric(name)
    assert str(raised.value) == f"{sentence}."


@pytest.mark.parametrize("name", ["R@1", "MdR", "gmean"])
def test_nothing_judged_is_an_error(name):
    with pytest.raises(InputError) as raised:
        summarise(Ranking.from_top(np.array([[0]]), 2), [name])
    assert str(raised.value) == f"{name} needs a query with a relevant target, but no query has one."


def test_sparsity():
    assert sparsity(np.eye(4)) == 0.75
    assert sparsity(np.ones((2, 2))) == 0.0
    with pytest.raises(InputError) as raised:
        sparsity(np.zeros((0, 3)))
    assert str(raised.value) == "the matrix has shape (0, 3); an empty matrix has no share of zeros."


# The package itself imports more than this layer, so an empty one stands in for it.
ALONE = """
import sys, types
package = types.ModuleType("unhub")
package.__path__ = sys.argv[1:]
sys.modules["unhub"] = package
import {}
print(*[name for name in ("scipy", "ot", "torch") if name in sys.modules])
"""


def loaded_by(modules):
    command = [sys.executable, "-c", ALONE.format(modules), *unhub.__path__]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_metrics_loads_nothing_heavy():
    assert loaded_by("unhub.metrics") == []


def test_the_test_above_can_fail():
    assert loaded_by("unhub.metrics, scipy.stats") == ["scipy"]


MODULES = [module.name for module in pkgutil.iter_modules(unhub.metrics.__path__, "unhub.metrics.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_docstrings_run(name):
    importlib.import_module(name)
    assert doctest.testmod(sys.modules[name]).failed == 0
