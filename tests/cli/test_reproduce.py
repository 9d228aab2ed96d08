"""``unhub reproduce`` and ``unhub check FILE``: what they print, write and refuse."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from encode.kills import Killer

from .conftest import Run


def test_init_writes_a_template_and_never_over_a_file(run: Run, folder: Path) -> None:
    assert run("reproduce", "init", "-o", "mine.toml").code == 0
    text = (folder / "mine.toml").read_text()
    assert "[banks.val]" in text
    again = run("reproduce", "init", "-o", "mine.toml")
    assert (again.code, "exists already" in again.err) == (2, True)
    assert (folder / "mine.toml").read_text() == text


def test_check_says_what_can_be_made(run: Run, folder: Path) -> None:
    told = json.loads(run("check", "experiment.toml", "--json").out)
    assert told["parts"]["banks.val.queries"] == [300, 16]
    assert told["tables"]["banks"] == {"can_be_made": True, "lacks": None}
    assert told["problems"] == []
    shown = run("check", "experiment.toml").out
    assert "next: unhub reproduce experiment.toml --table query-aware" in shown


@pytest.mark.parametrize(
    ("part", "array", "said"),
    [
        ("bank.npy", np.ones((5, 7), dtype=np.float32), "banks.val.queries has dimension 7 but test.targets has 16"),
        ("queries.npy", np.full((9, 16), 0.25, dtype=np.float32), "9 queries and 40 targets are not aligned"),
        ("other_targets.npy", None, "banks.val.targets: there is no file"),
    ],
)
def test_check_finds_what_is_wrong(run: Run, folder: Path, part: str, array: np.ndarray | None, said: str) -> None:
    if array is None:
        (folder / part).unlink()
    else:
        np.save(folder / part, array)
    ended = run("check", "experiment.toml")
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_tables_are_printed_and_written(run: Run, folder: Path) -> None:
    ended = run("reproduce", "experiment.toml", "--table", "4", "--table", "query-aware", "-o", "out")
    assert ended.code == 0
    assert "val & val" in ended.out
    assert "wrote out" in ended.out
    told = json.loads(run("reproduce", "experiment.toml", "--table", "4", "--json").out)["experiments"][0]["tables"][
        "banks"
    ]
    written = json.loads((folder / "out" / "banks" / "table.json").read_text())
    assert told["rows"] == written["rows"]
    assert r"\caption{The test queries as the bank" in (folder / "out" / "query-aware" / "table.tex").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["experiment.toml", "--table", "9"], "there is no table '9'; there are query-aware (1, 2"),
        (["experiment.toml", "--table", "A6"], "dataset.task is retrieval, not classification"),
        (["experiment.toml", "--protocol", "mine"], "--protocol is 'mine'; use auto, paper, authors."),
        (["experiment.toml", "--compare", "paper"], "have no Small with made; they have"),
        (["experiment.toml", "--compare", "ours"], "--compare paper"),
        (["nothing.toml"], "there is no experiment file nothing.toml"),
    ],
)
def test_mistakes_are_one_sentence(run: Run, folder: Path, words: list[str], said: str) -> None:
    ended = run("reproduce", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_the_papers_values_stand_beside_ours(run: Run, folder: Path) -> None:
    text = (folder / "experiment.toml").read_text()
    named = text.replace("Small", "MSR-VTT").replace('"made"', '"CLIP4Clip"\ndirections = ["t2v", "v2t"]')
    (folder / "experiment.toml").write_text(named)
    ended = run("reproduce", "experiment.toml", "--table", "1", "--compare", "paper")
    assert ended.code == 0
    lines = [line for line in ended.out.splitlines() if line.startswith("+SN ") and "R@1 " in line and "t2v" in line]
    assert any("49.6" in line and "another value" in line for line in lines)
    told = json.loads(run("reproduce", "experiment.toml", "--table", "1", "--compare", "paper", "--json").out)[
        "experiments"
    ][0]
    assert {each["paper"] for each in told["compared"]["query-aware"] if each["method"] == "none"} >= {43.9, 44.7}


def test_logits_are_refused_unless_a_temperature_is_given(run: Run, folder: Path) -> None:
    np.save(folder / "logits.npy", 100 * np.load(folder / "scores.npy"))
    file = folder / "logits.toml"
    file.write_text('[test]\nscores = "logits.npy"\n')
    for command in ("reproduce", "sweep"):
        ended = run(command, "logits.toml", "--protocol", "paper")
        assert (ended.code, ended.out) == (2, "")
        assert "look like logits" in ended.err
        assert run(command, "logits.toml").code == 0, "unhub's own temperatures follow the scores"
    assert run("sweep", "logits.toml", "--protocol", "paper", "--relative").code == 0
    ended = run("sweep", "logits.toml", "--over", "strength", "--relative", "--protocol", "paper")
    assert ended.code == 2
    assert "look like logits" in ended.err
    file.write_text(file.read_text() + '[settings]\ntau = "auto"\n')
    assert run("reproduce", "logits.toml", "--protocol", "paper").code == 0


@pytest.mark.parametrize("command", ["reproduce", "sweep"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(run: Run, folder: Path, command: str) -> None:
    np.save(folder / "queries.npy", np.full_like(np.load(folder / "queries.npy"), np.nan))  # a run would say so
    (folder / "taken").write_text("a file")
    for place, why in (("taken/results", "is not a folder"), ("taken", "a file of that name exists already")):
        ended = run(command, "experiment.toml", "-o", place)
        assert ended.code == 2
        assert place in ended.err
        assert why in ended.err
        assert "NaN" not in ended.err
    assert "NaN" in run(command, "experiment.toml", "-o", "results").err
    assert (folder / "taken").read_text() == "a file"


def test_a_terminal_gets_a_table_of_its_own(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("reproduce", "experiment.toml").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = re.sub(r"\x1b\[[\d;]*m", "", run("reproduce", "experiment.toml").out)  # without colours
    assert [line.split() for line in plain.splitlines() if line.startswith("+SN")] == [
        line.split() for line in shown.splitlines() if line.startswith("+SN")
    ]
    assert "-----" in plain
    assert "-----" not in shown


def test_figures_need_a_folder_and_are_listed(run: Run, folder: Path) -> None:
    ended = run("reproduce", "experiment.toml", "--figure", "radar")
    assert (ended.code, ended.out) == (2, "")
    assert "add -o FOLDER" in ended.err
    told = json.loads(run("reproduce", "experiment.toml", "--figure", "radar", "-o", "out", "--json").out)
    (one,) = told["experiments"]
    assert [Path(path).name for path in one["figures"]] == ["radar.pdf", "radar.png"]
    assert one["tables"] == {}
    for words in (["--figure", "rader"], ["--figure", "radar", "--bank", "vla"]):
        ended = run("reproduce", "experiment.toml", *words, "-o", "nothing")
        assert ended.code == 2
        assert not (folder / "nothing").exists()
    ended = run("reproduce", "init", "experiment.toml")
    assert "init takes no files" in ended.err


def test_check_lists_figures_and_counts_pictures(run: Run, folder: Path) -> None:
    (folder / "media").mkdir()
    for row in range(3):
        (folder / "media" / f"{row}.png").write_bytes(b"")
    text = (folder / "experiment.toml").read_text()
    (folder / "experiment.toml").write_text(text.replace("[test]", '[test]\nmedia = "media"'))
    shown = run("check", "experiment.toml").out
    assert "3 of 40" in shown
    told = json.loads(run("check", "experiment.toml", "--json").out)
    assert told["figures"]["hub-map"]["can_be_made"]
    assert "3 banks" in told["figures"]["bank-source"]["lacks"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("tau = -1", 'a positive number in the unit of the scores; pass tau = "auto" in the section [settings]'),
        ('tau = "big"', "a temperature is a positive number"),
        ("iterations = 0", "iterations"),
        ('ties = "lucky"', "lucky"),
    ],
)
def test_check_refuses_what_reproduce_refuses(run: Run, folder: Path, settings: str, said: str) -> None:
    file = folder / "experiment.toml"
    text = file.read_text().partition("[settings]")[0]
    file.write_text(f"{text}\n[settings]\n{settings}\n")
    for command in ("check", "reproduce"):
        ended = run(command, "experiment.toml")
        assert ended.code == 2, command
        assert said in ended.err


def test_check_looks_at_values_and_at_overlaps(run: Run, folder: Path) -> None:
    good = np.load(folder / "bank.npy")
    for wrong, said in (
        (np.where(np.arange(good.size).reshape(good.shape) == 5, np.nan, good), "banks.val.queries has NaN"),
        (3 * good, "unit length"),
        (np.concatenate([good, np.load(folder / "queries.npy")[:3]]), "test queries are also in banks.val.queries"),
    ):
        np.save(folder / "bank.npy", wrong.astype(np.float32))
        ended = run("check", "experiment.toml")
        assert ended.code == 2
        assert said in ended.err
        assert "--" not in ended.err.replace("---", "")
    assert "give it there instead" in run("check", "experiment.toml", "--targets", "targets.npy").err


def test_scores_that_are_all_the_same_rank_nothing(run: Run, folder: Path) -> None:
    np.save(folder / "flat.npy", np.zeros((30, 30), np.float32))
    (folder / "flat.toml").write_text('[test]\nscores = "flat.npy"\n')
    for command in ("check", "reproduce"):
        ended = run(command, "flat.toml")
        assert ended.code == 2
        assert "every test score is 0, which ranks nothing" in ended.err


def test_all_and_a_table_exclude_each_other(run: Run, folder: Path) -> None:
    assert "--all and --table exclude each other" in run("reproduce", "experiment.toml", "--all", "--table", "1").err


def test_a_sweep_says_what_it_was_made_with(run: Run, folder: Path) -> None:
    assert "the test queries as the bank: transductive" in run("sweep", "experiment.toml", "--over", "strength").out
    assert "the bank val" in run("sweep", "experiment.toml", "--over", "strength", "--bank", "val").out


def test_check_knows_metrics(run: Run, folder: Path) -> None:
    file = folder / "experiment.toml"
    file.write_text(file.read_text().replace("[dataset]", '[dataset]\nmetrics = ["R@1", "Rr@5"]'))
    for command in ("check", "reproduce"):
        ended = run(command, "experiment.toml")
        assert ended.code == 2, command
        assert "Rr@5" in ended.err


def test_tables_of_two_runs_are_not_taken_for_one(run: Run, folder: Path) -> None:
    words = ["reproduce", "experiment.toml", "--table", "skewness", "-o", "out"]
    with Killer("import unhub.cli.reproduce, unhub.reports.result_files") as killer:
        events = [event.split("/")[-1] for event in killer.events(words, folder)]
        assert (folder / "out" / "run.json").is_file()
        experiment = folder / "experiment.toml"
        experiment.write_text(experiment.read_text().replace("tau = 0.1", "tau = 0.5"))
        before = (folder / "out" / "skewness" / "table.txt").read_text()
        killer.kill(words, folder, events.index("table.json") + 1)  # one more change: run.json goes first
    assert (folder / "out" / "skewness" / "table.txt").read_text() != before
    ended = run("report", "out")
    assert ended.code == 2
    assert "out has no run.json" in ended.err
