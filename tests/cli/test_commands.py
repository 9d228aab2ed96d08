"""What commands print and write is what the façades give back."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import unhub
from unhub.cli.options import HYPER_PARAMETERS
from unhub.methods import HyperParameters

from .conftest import BANK, QUERIES, TARGETS, Run

VECTORS = "--queries queries.npy --targets targets.npy --relevant relevant.tsv".split()
FIT = "fit --targets targets.npy --query-bank bank.npy --target-ids ids.txt".split()
DECORATION = re.compile(r"[\x1b─-╿▀-▟⠀-⣿]")
"""escape sequences, boxes, blocks and spinners, none of which belong in a pipe"""


def plain(text: str) -> bool:
    return DECORATION.search(text) is None


def test_flags_are_the_hyper_parameters_of_the_methods() -> None:
    assert set(HYPER_PARAMETERS) == set(HyperParameters.__annotations__)


def test_evaluate_prints_what_the_facade_says(run: Run) -> None:
    ended = run("evaluate", *VECTORS, "--query-bank", "bank.npy", "--tau", "auto")
    result = unhub.evaluate(
        queries="queries.npy", targets="targets.npy", relevant="relevant.tsv", query_bank="bank.npy", tau="auto"
    )
    assert (ended.code, ended.out, ended.err) == (0, f"{result.table()}\n", "")
    assert plain(ended.out)


def test_evaluate_as_json_is_only_json_and_notes_go_to_stderr(run: Run) -> None:
    ended = run("evaluate", *VECTORS, "--methods", "is,sn", "--json")
    found = json.loads(ended.out)
    assert found["schema_version"] == 1
    assert list(found["methods"]) == ["is", "sn"]
    assert found["methods"]["sn"]["R@1"] == pytest.approx(
        unhub.evaluate(scores="scores.npy", relevant=list(range(QUERIES)), methods=["sn"], tau=0.01)["sn"]["R@1"]
    )
    assert found["transductive"] is True
    lines = ended.err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("unhub: note: tau = ") for line in lines)


def test_evaluate_takes_every_hyper_parameter_setting_and_weight(run: Run) -> None:
    np.save("w.npy", np.linspace(1, 2, BANK))
    Path("prior.txt").write_text("1.5\n" * TARGETS)
    flags = "--tau 0.05 --tau1 0.05 --tau2 2 --iterations 3 --strength 0.5 --k 2 --alpha 0.6 --w 0.4".split()
    more = "--seed 3 --resamples 50 --ties index --metrics R@1,mrr --memory 1MB --normalize --metric cosine".split()
    banks = (
        "--query-bank bank.npy --target-bank other_targets.npy --query-weight w.npy --target-prior prior.txt".split()
    )
    ended = run("evaluate", *VECTORS, *banks, *flags, *more, "--methods", "sn,dbsn,dualis,nnn,dn", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["details"]["sn"]["settings"] == {"tau": 0.05, "iterations": 3, "tol": None, "strength": 0.5}
    assert found["details"]["dualis"]["settings"]["tau2"] == 2
    assert found["details"]["nnn"]["settings"] == {"k": 2, "alpha": 0.6, "strength": 0.5}
    assert found["settings"]["seed"] == 3
    assert set(found["intervals"]["sn"]) == {"R@1", "mrr"}
    expected = unhub.evaluate(
        queries="queries.npy", targets="targets.npy", relevant="relevant.tsv", query_bank="bank.npy",
        query_weight=np.linspace(1, 2, BANK), methods=["sn"], tau=0.05, iterations=3, strength=0.5, ties="index",
    )  # fmt: skip
    assert found["methods"]["sn"]["R@1"] == expected["sn"]["R@1"]


def test_tau_auto_reaches_both_temperatures_of_dualis(run: Run) -> None:
    words = ["evaluate", *VECTORS, "--query-bank", "bank.npy", "--target-bank", "other_targets.npy", "--tau", "auto"]
    both = json.loads(run(*words, "--methods", "sn,dualis", "--json").out)["details"]
    assert both["dualis"]["settings"]["tau1"] == both["sn"]["settings"]["tau"]
    assert both["dualis"]["settings"]["tau2"] == pytest.approx(50 * both["sn"]["settings"]["tau"])
    assert run(*words, "--methods", "dualis").code == 0


def test_all_methods_list_those_that_were_skipped(run: Run) -> None:
    found = json.loads(run("evaluate", "--scores", "scores.npy", "--relevant", "diagonal", "--methods", "all",
                           "--tau", "auto", "--json").out)  # fmt: skip
    assert {"dbsn", "dualis"} <= set(found["skipped"])
    assert {"none", "sn", "otn", "hn"} <= set(found["methods"])


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.json", "{"), ("r.csv", "direction,method"), ("r.md", "40 queries"), ("r.tex", "% 40 "), ("r.txt", "40 ")],
)
def test_evaluate_writes_the_format_of_the_ending(name: str, begins: str, run: Run) -> None:
    words = ["evaluate", *VECTORS, "--tau", "auto", "-o", name]
    assert run(*words).out.splitlines()[-1] == f"wrote {name}: 3 methods"
    assert Path(name).read_text().startswith(begins)
    assert run(*words).out.splitlines()[-1] == f"replaced {name}: 3 methods"


@pytest.mark.parametrize(
    ("form", "begins"), [("table", "40 q"), ("markdown", "40 q"), ("latex", "% 40"), ("csv", "dir"), ("json", "{")]
)
def test_evaluate_prints_the_format_asked_for(form: str, begins: str, run: Run) -> None:
    ended = run("evaluate", *VECTORS, "--tau", "auto", "--format", form)
    assert ended.out.startswith(begins)
    assert ended.out.endswith("\n")
    assert not ended.out.endswith("\n\n")


def test_comparison_has_interval_and_p_value_for_people_and_programs(run: Run) -> None:
    words = ["evaluate", *VECTORS, "--direction", "both", "--methods", "is,sn", "--tau", "auto", "--compare"]
    lines = run(*words).out.splitlines()
    assert "R@1 against none, forward" in lines
    assert "R@1 against none, reverse" in lines
    line = lines[lines.index("R@1 against none, forward") + 2]
    assert re.fullmatch(r"  sn +[+-][\d.]+  \(95 % interval [+-][\d.]+ to [+-][\d.]+, p = [\d.e-]+ after Holm\)", line)
    found = json.loads(run(*words, "--json").out)
    assert [each["method"] for each in found["comparison"]] == ["is", "sn"]
    assert {"difference", "low", "high", "p_value", "adjusted_p_value"} <= set(found["comparison"][0])
    assert "comparison" in found["reverse"]


def test_relevance_by_diagonal_labels_and_file_agree(run: Run) -> None:
    Path("q.txt").write_text("".join(f"class-{row}\n" for row in range(QUERIES)))
    Path("t.txt").write_text("".join(f"class-{row}\n" for row in range(TARGETS)))
    np.save("rows.npy", np.arange(QUERIES))
    told = ("diagonal", "labels:q.txt,t.txt", "rows.npy", "relevant.tsv")
    tables = [run("evaluate", "--scores", "scores.npy", "--relevant", each, "--tau", "auto").out for each in told]
    assert len(set(tables)) == 1
    assert "sn" in tables[0]


def test_fit_follows_the_spread_and_says_what_it_did(run: Run) -> None:
    ended = run(*FIT, "-o", "c.unhub")
    expected = unhub.fit("sn", targets="targets.npy", query_bank="bank.npy", ids="ids.txt", tau="auto")
    assert (ended.code, ended.err) == (0, "")
    assert plain(ended.out)
    assert f"sn (tau {expected.settings['tau']:.4g}, iterations 10, strength 1)" in ended.out
    assert f"iterations reached, 10 rounds, marginal error {expected.marginal_error:.2g}" in ended.out
    hub = int(np.argmax(expected.hubness))
    assert re.search(rf"^item-{hub} +\+{expected.hubness[hub]:.4f}$", ended.out, re.MULTILINE)
    assert "wrote c.unhub: the bias of 40 targets" in ended.out
    assert "unhub search c.unhub --queries" in ended.out
    assert np.array_equal(unhub.load("c.unhub").bias, expected.bias)
    assert "replaced c.unhub" in run(*FIT, "-o", "c.unhub").out


def test_fit_chooses_the_method_by_what_there_is(run: Run) -> None:
    found = json.loads(run(*FIT, "--target-bank", "other_targets.npy", "-o", "c.unhub", "--json").out)
    assert (found["method"], found["targets"], found["bank"]) == ("dbsn", TARGETS, BANK)
    assert found["hubs"][0]["id"].startswith("item-")
    dual = ["--target-bank", "other_targets.npy", "--method", "dualis"]
    found = json.loads(run(*FIT, *dual, "-o", "c.unhub", "--json").out)
    assert found["settings"]["tau2"] == pytest.approx(50 * found["settings"]["tau1"])
    assert found["replaced"] is True
    found = json.loads(run(*FIT, "--tau", "0.01", "-o", "c.unhub", "--json").out)
    assert found["settings"]["tau"] == 0.01


def test_a_failing_fit_leaves_the_file_that_was_there(run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    before = Path("c.unhub").read_bytes()
    assert run(*FIT, "--tau", "0", "-o", "c.unhub").code == 2
    assert Path("c.unhub").read_bytes() == before
    assert not list(Path().glob(".*"))


def test_search_gives_the_hits_of_the_correction(run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    hits = unhub.load("c.unhub").search("queries.npy", k=3)
    ended = run("search", "c.unhub", "--queries", "queries.npy", "--k", "3")
    rows = list(csv.DictReader(ended.out.splitlines(), delimiter="\t"))
    assert [row["id"] for row in rows] == hits.ids.ravel().tolist()
    assert [float(row["score"]) for row in rows] == pytest.approx(hits.scores.ravel().tolist(), abs=1e-6)
    assert [row["rank"] for row in rows[:3]] == ["1", "2", "3"]
    assert rows[-1]["query"] == str(QUERIES - 1)


@pytest.mark.parametrize("name", ["hits.csv", "hits.tsv", "hits.jsonl", "hits.json"])
def test_search_writes_every_format_with_the_raw_ranking_beside(name: str, run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    Path("q.txt").write_text("".join(f"question {row}\n" for row in range(QUERIES)))
    words = ["search", "c.unhub", "--queries", "queries.npy", "--k", "2", "--raw", "--query-ids", "q.txt", "-o", name]
    assert run(*words).out == f"wrote {name}: 80 hits of 40 queries\n"
    text = Path(name).read_text()
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in text.splitlines()]
    elif name.endswith(".json"):
        rows = [{"query": each["query"], **hit} for each in json.loads(text)["queries"] for hit in each["hits"]]
    else:
        rows = list(csv.DictReader(text.splitlines(), delimiter="," if name.endswith(".csv") else "\t"))
    raw = unhub.load("c.unhub").search("queries.npy", k=2, corrected=False)
    assert [row["raw_id"] for row in rows] == raw.ids.ravel().tolist()
    assert rows[2]["query"] == "question 1"
    assert list(rows[0]) == ["query", "rank", "id", "score", "raw_id", "raw_score"]


def test_a_gallery_that_moved_is_asked_for(run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    Path("targets.npy").rename("moved.npy")
    ended = run("search", "c.unhub", "--queries", "queries.npy")
    assert ended.code == 2
    assert "--targets" in ended.err
    assert run("search", "c.unhub", "--queries", "queries.npy", "--targets", "moved.npy").code == 0


@pytest.mark.parametrize("name", ["b.csv", "b.tsv", "b.jsonl", "b.json", "b.npy"])
def test_extend_writes_the_exact_bias(name: str, run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    expected = unhub.load("c.unhub").extend("new_targets.npy")
    words = ["extend", "c.unhub", "--targets", "new_targets.npy"]
    assert run(*words, "-o", name).out == f"wrote {name}: the bias of 6 new targets\n"
    if name == "b.npy":
        found = np.load(name).tolist()
    elif name == "b.json":
        found = list(json.loads(Path(name).read_text()).values())
    elif name == "b.jsonl":
        found = [json.loads(line)["bias"] for line in Path(name).read_text().splitlines()]
    else:
        lines = csv.DictReader(Path(name).read_text().splitlines(), delimiter="," if name == "b.csv" else "\t")
        found = [float(row["bias"]) for row in lines]
    assert found == expected.tolist()


def test_extend_makes_a_longer_correction_that_can_be_searched(run: Run) -> None:
    run(*FIT, "-o", "c.unhub")
    Path("new.txt").write_text("".join(f"new-{row}\n" for row in range(6)))
    ended = run("extend", "c.unhub", "--targets", "new_targets.npy", "--ids", "new.txt", "-o", "longer.unhub")
    assert ended.code == 0
    np.save("both.npy", np.concatenate((np.load("targets.npy"), np.load("new_targets.npy"))))
    found = json.loads(run("search", "longer.unhub", "--queries", "new_targets.npy", "--targets", "both.npy",
                           "--k", "1", "--json").out)  # fmt: skip
    assert [each["hits"][0]["id"] for each in found["queries"]] == [f"new-{row}" for row in range(6)]


def test_a_correction_of_scores_is_extended_by_scores(run: Run) -> None:
    run("fit", "--scores", "bank_scores.npy", "-o", "m.unhub")
    np.save("new_scores.npy", np.load("bank.npy") @ np.load("new_targets.npy").T)
    found = json.loads(run("extend", "m.unhub", "--scores", "new_scores.npy", "--json").out)
    run(*FIT, "-o", "c.unhub")
    expected = unhub.load("c.unhub").extend("new_targets.npy")
    assert [each["bias"] for each in found["targets"]] == pytest.approx(expected.tolist(), abs=1e-5)
    assert "apply" in run("search", "m.unhub", "--queries", "queries.npy").err


def test_diagnose_names_the_hubs(run: Run) -> None:
    words = ["diagnose", "--queries", "queries.npy", "--targets", "targets.npy", "--target-ids", "ids.txt"]
    expected = unhub.diagnose(queries="queries.npy", targets="targets.npy", target_ids="ids.txt")
    ended = run(*words, "--hubs", "3", "-o", "d.json")
    assert ended.out.startswith(expected.sentence)
    assert plain(ended.out)
    for hub in expected.hubs(3):
        assert re.search(rf"^{hub.id} +{hub.count} ", ended.out, re.MULTILINE)
    found = json.loads(run(*words, "--hubs", "3", "--json").out)
    assert found["hubness"]["skew@10"] == expected["skew@10"]
    assert len(found["hubs"]) == 3
    assert json.loads(Path("d.json").read_text()) == found
