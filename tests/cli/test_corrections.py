"""``unhub fit``, ``search``, ``extend`` and ``diagnose`` print and write what the façades give back."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import unhub

from .conftest import BANK, QUERIES, TARGETS, Run, plain

FIT = split("fit --targets targets.npy --query-bank bank.npy --target-ids ids.txt")


def test_fit_follows_the_spread_and_says_what_it_did(run: Run) -> None:
    ended = run(*FIT, "-o", "c.unhub")
    expected = unhub.fit("sn", targets="targets.npy", query_bank="bank.npy", target_ids="ids.txt", tau="auto")
    assert (ended.code, ended.err) == (0, "")
    assert plain(ended.out)
    assert f"sn (tau {expected.settings['tau']:.4g}, iterations 10)" in ended.out
    assert "\n".join(expected.verdict.sentences) in ended.out
    assert f"iterations reached, 10 iterations, marginal error {expected.marginal_error:.2g}" in ended.out
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


def test_a_gallery_that_cannot_be_read_here_does_not_stop_an_extension(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File("targets.h5", "w") as file:
        file["rows"] = np.load("targets.npy")
    assert run("fit", "--targets", "targets.h5", "--query-bank", "bank.npy", "-o", "c.unhub").code == 0
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert run("extend", "c.unhub", "--targets", "new_targets.npy").code == 0


def test_extend_without_an_output_says_that_nothing_is_saved(run: Run, folder: Path) -> None:
    assert run("fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "c.unhub").code == 0
    before = Path("c.unhub").read_bytes()
    ended = run("extend", "c.unhub", "--targets", "new_targets.npy")
    assert (ended.code, ended.out.startswith("id\tbias\n")) == (0, True)
    assert ended.err.startswith("unhub: nothing was saved; add -o")
    assert Path("c.unhub").read_bytes() == before
    assert run("extend", "c.unhub", "--targets", "new_targets.npy", "--json").err == ""


def test_a_correction_is_no_experiment_file(run: Run, folder: Path) -> None:
    assert run("fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "c.unhub").code == 0
    ended = run("check", "c.unhub")
    assert ended.code == 2
    assert "c.unhub is a correction, not an experiment file; look at it with unhub report c.unhub" in ended.err
    assert "TOML" not in ended.err


def test_auto_reaches_a_method_with_two_temperatures(run: Run, folder: Path) -> None:
    words = ["fit", "--method", "dualis", "--targets", "targets.npy", "--query-bank", "bank.npy"]
    words += ["--target-bank", "other_targets.npy", "--json"]
    by_default, auto = run(*words, "-o", "a.unhub"), run(*words, "--tau", "auto", "-o", "b.unhub")
    assert (by_default.code, auto.code, auto.err) == (0, 0, "")
    assert json.loads(auto.out)["settings"] == json.loads(by_default.out)["settings"]


def test_the_path_of_a_faiss_index_gets_its_url_as_advice(run: Run, folder: Path) -> None:
    ended = run("fit", "--targets", "photos.faiss", "--query-bank", "bank.npy", "-o", "c.unhub")
    assert ended.code == 2
    assert "--targets is 'photos.faiss', which looks like a faiss index; write it as faiss://photos.faiss." in ended.err


def test_fit_offers_no_option_that_none_of_its_methods_has(run: Run) -> None:
    shown = run("fit", "--help").out
    assert "--gamma" not in shown
    assert "--reg" not in shown
    assert "--tau" in shown


def test_protocol_takes_paper_alone_and_no_other_constants(run: Run, folder: Path) -> None:
    words = ["fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "c.unhub", "--protocol"]
    assert "--protocol is 'x'; the only one is paper." in run(*words, "x").err
    assert "leave out --tau" in run(*words, "paper", "--tau", "0.1").err
