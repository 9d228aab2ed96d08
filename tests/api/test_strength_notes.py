"""What the notes of a table say of the strength: supported, refused, given, or not to be judged."""

from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub.api.evaluation import strength_notes
from unhub.api.verdict import judge
from unhub.dataset import Dataset
from unhub.experiments import preset
from unhub.experiments.paper_tables import result_table
from unhub.experiments.run import Run
from unhub.methods import SN
from unhub.methods.strength import Evidence

pytestmark = pytest.mark.filterwarnings("ignore::unhub.UnhubWarning")

METHODS = ["none", "is", "sn"]


@pytest.fixture
def arrays(unit_rows):
    return {"queries": unit_rows(30, 8), "targets": unit_rows(20, 8), "relevant": np.arange(30) % 20, "tau": 0.1}


def notes(result):
    """Those of the strength, as the table has them."""
    return [line.strip() for line in result.table().splitlines() if "strength" in line]


def judged(result, **strengths):
    """The evaluation as it would be if the methods had these verdicts: by bank, then recent queries."""
    rows = dict(result.rows)
    for label, each in strengths.items():
        evidence = (Evidence(source, at, 0.1, 0.01, 80) for source, at in zip(("bank", "recent"), each, strict=False))
        rows[label] = replace(rows[label], verdict=judge(tuple(evidence)))
    return replace(result, rows=rows)


def test_a_transductive_table_says_that_nothing_can_be_judged(arrays):
    assert notes(unhub.evaluate(**arrays, methods=METHODS)) == [
        "strength 1: nothing is left to judge the correction by when the test queries are the bank"
    ]


def test_a_strength_that_was_given_is_told(arrays, unit_rows):
    line = "strength: is 0.5, sn 0.5 (given; nothing was checked)"
    banked = {**arrays, "query_bank": unit_rows(60, 8)}
    for each in (arrays, banked):
        assert notes(unhub.evaluate(**each, methods=METHODS, strength=0.5)) == [line]
    assert notes(unhub.evaluate(**banked, methods=["none"], strength=0.5)) == []


def test_supported_and_refused_methods_are_told_apart(arrays, unit_rows):
    result = unhub.evaluate(**arrays, query_bank=unit_rows(60, 8), methods=METHODS)
    checked = "supported by held-out bank queries and recent queries; not checked: popularity"
    for strengths, line in (
        ({"is": (0.95, 0.7), "sn": (0.95, 0.9)}, f"is 0.7, sn 0.9 ({checked})"),
        ({"is": (0.95, 0.7), "sn": (0.1, 0.9)}, f"is 0.7 ({checked}); sn refused by held-out bank queries"),
        ({"is": (0.1,), "sn": (0.9, 0.2)}, "is refused by held-out bank queries; sn refused by recent queries"),
        ({"is": (), "sn": (0.9, 0.7)}, f"sn 0.7 ({checked}); is refused, since the bank is too small to judge by"),
    ):
        assert notes(judged(result, **strengths)) == [f"strength: {line}"]


def test_a_bank_that_is_too_small_refuses(arrays, unit_rows):
    result = unhub.evaluate(**arrays, query_bank=unit_rows(5, 8), methods=METHODS)
    assert notes(result) == [
        "strength: is refused, since the bank is too small to judge by; sn refused, since the bank is too small to "
        "judge by"
    ]


def test_a_protocol_is_told_as_given_in_a_table_and_as_the_protocol_among_the_papers(arrays, unit_rows):
    given = {name: value for name, value in arrays.items() if name != "tau"}
    result = unhub.evaluate(**given, query_bank=unit_rows(60, 8), methods=["none", SN.paper()])
    assert notes(result) == ["strength: sn 1 (given; nothing was checked)"]
    assert strength_notes(result) == []
    data = Dataset(**given, query_bank=unit_rows(60, 8))
    assert result_table("1", Run(data, preset("paper"))).strengths == ("strength 1: that of the protocol paper",)
