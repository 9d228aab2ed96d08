"""``unhub evaluate`` prints and writes what the façade gives back, in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import unhub
from unhub.cli.options import HYPER_PARAMETERS
from unhub.methods import HyperParameters

from .conftest import BANK, QUERIES, TARGETS, Run, plain

VECTORS = split("--queries queries.npy --targets targets.npy --relevant relevant.tsv")


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
    ended = run("evaluate", *VECTORS, "--methods", "is,sn", "--tau", "0.01", "--json")
    found = json.loads(ended.out)
    assert found["schema_version"] == 1
    assert list(found["methods"]) == ["is", "sn"]
    with pytest.warns(unhub.UnhubWarning, match="sharp"):
        expected = unhub.evaluate(scores="scores.npy", relevant=list(range(QUERIES)), methods=["sn"], tau=0.01)
    assert found["methods"]["sn"]["R@1"] == pytest.approx(expected["sn"]["R@1"])
    assert found["transductive"] is True
    lines = ended.err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("unhub: note: tau = ") for line in lines)


def test_evaluate_judges_cosines_and_logits_alike_at_the_temperature_of_a_fit(run: Run) -> None:
    np.save("logits.npy", 100 * np.load("scores.npy"))
    cosines, logits = (
        json.loads(run(*split(f"evaluate --scores {name}.npy --relevant diagonal --methods sn --json")).out)
        for name in ("scores", "logits")
    )
    assert cosines["methods"]["sn"] == pytest.approx(logits["methods"]["sn"])
    expected = unhub.evaluate(scores="scores.npy", relevant=list(range(QUERIES)), methods=["sn"])
    assert cosines["methods"]["sn"]["R@1"] == pytest.approx(expected["sn"]["R@1"])
    assert expected["sn"].settings == unhub.fit("sn", scores="scores.npy").settings | {"strength": 1}  # transductive


def test_evaluate_takes_every_hyper_parameter_setting_and_weight(run: Run) -> None:
    np.save("w.npy", np.linspace(1, 2, BANK))
    Path("prior.txt").write_text("1.5\n" * TARGETS)
    flags = split("--tau 0.05 --tau1 0.05 --tau2 2 --iterations 3 --strength 0.5")
    more = split("--seed 3 --resamples 50 --ties index --metrics R@1,mrr --memory 1MB --normalize --metric cosine")
    banks = split("--query-bank bank.npy --target-bank other_targets.npy --query-weight w.npy --target-prior prior.txt")
    ended = run("evaluate", *VECTORS, *banks, *flags, *more, "--methods", "sn,dbsn,dualis", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["details"]["sn"]["settings"] == {"tau": 0.05, "iterations": 3, "tol": None, "strength": 0.5}
    assert found["details"]["dualis"]["settings"]["tau2"] == 2
    assert found["settings"]["seed"] == 3
    assert set(found["intervals"]["sn"]) == {"R@1", "mrr"}
    expected = unhub.evaluate(
        queries="queries.npy", targets="targets.npy", relevant="relevant.tsv", query_bank="bank.npy",
        query_weight=np.linspace(1, 2, BANK), methods=["sn"], tau=0.05, iterations=3, strength=0.5, ties="index",
    )  # fmt: skip
    assert found["methods"]["sn"]["R@1"] == expected["sn"]["R@1"]


def test_evaluate_takes_the_hyper_parameters_of_other_families(run: Run) -> None:
    flags = split(
        "--methods nnn,dn,centering,l2n,sn --k 2 --alpha 0.6 --w 0.4 --gamma 2 --reg 0.1 --tol 1e-3 --tau auto"
    )
    found = json.loads(run("evaluate", *VECTORS, *flags, "--json").out)["details"]
    assert found["nnn"]["settings"] == {"k": 2, "alpha": 0.6, "strength": 1.0}
    assert found["dn"]["settings"]["w"] == 0.4
    assert found["centering"]["settings"]["gamma"] == 2
    assert found["l2n"]["settings"]["reg"] == 0.1
    assert found["sn"]["status"] == "converged"


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
    assert re.fullmatch(r"  sn +[+-][\d.]+  \(95% interval [+-][\d.]+ to [+-][\d.]+, p = [\d.e-]+ after Holm\)", line)
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


def test_other_ways_to_ask_run(run: Run) -> None:
    Path("next.tsv").write_text("".join(f"{row}\t{(row + 1) % TARGETS}\n" for row in range(QUERIES)))
    unlike = "--ignore-self --relevant next.tsv"
    for flags in ("--direction reverse", "--group-targets max", unlike, "--no-compare", "--metric ip"):
        ended = run("evaluate", *VECTORS, "--tau", "auto", *split(flags))
        assert (ended.code, "sn" in ended.out) == (0, True), (flags, ended.err)
