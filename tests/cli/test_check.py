"""``unhub check`` finds everything that is wrong, and what it calls ready is ready."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from shlex import split

import numpy as np
import pytest

from .conftest import QUERIES, TARGETS, Run

VECTORS = split("--queries queries.npy --targets targets.npy --query-bank bank.npy")


def next_command(out: str) -> list[str]:
    line = next(line for line in out.splitlines() if line.startswith("next: "))
    return shlex.split(line.removeprefix("next: "))[1:]


def test_ready_files_lead_to_a_command_that_runs(run: Run) -> None:
    ended = run("check", *VECTORS, "--relevant", "relevant.tsv", "--memory", "8MB")
    assert (ended.code, ended.err) == (0, "")
    assert "\nready\n" in ended.out
    assert "relevant: 40 pairs, 1 to 1 for each query" in ended.out
    assert "a fit of sn or dbsn reads 300 x 40 x 16, 48 kB of scores" in ended.out
    assert "plan: cached: scores are computed once" in ended.out
    words = next_command(ended.out)
    assert words[0] == "evaluate"
    assert run(*words).code == 0


def test_without_answers_the_next_command_is_a_fit(run: Run) -> None:
    np.save("long.npy", 2 * np.load("targets.npy"))
    for flags in (
        ["--targets", "targets.npy", "--query-bank", "bank.npy", "--target-ids", "ids.txt"],
        ["--targets", "long.npy", "--query-bank", "bank.npy", "--normalize"],
        ["--scores", "bank_scores.npy"],
    ):
        words = next_command(run("check", *flags).out)
        assert words[0] == "fit"
        assert run(*words).code == 0


def test_logits_are_a_note_and_the_next_command_follows_their_spread(run: Run) -> None:
    np.save("logits.npy", 100 * np.load("scores.npy"))
    ended = run("check", "--scores", "logits.npy", "--relevant", "diagonal")
    assert ended.code == 0
    assert "note: the scores run from" in ended.out
    assert "look like logits" in ended.out
    words = next_command(ended.out)
    assert words[-2:] == ["--tau", "auto"]
    assert run(*words).code == 0


def test_every_problem_is_told_at_once(run: Run) -> None:
    bad = np.load("targets.npy") * 3
    bad[3], bad[5] = np.nan, 0.0
    np.save("bad.npy", bad)
    np.save("short.npy", np.load("bank.npy")[:, :5])
    Path("few.txt").write_text("a\nb\n")
    Path("pairs.tsv").write_text("0\t99\n")
    np.save("w.npy", np.ones(3))
    flags = split("--targets bad.npy --query-bank short.npy --queries queries.npy --target-bank no.npy")
    more = split("--target-ids few.txt --relevant pairs.tsv --target-prior w.npy --metric l2")
    ended = run("check", *flags, *more, "--json")
    found = json.loads(ended.out)
    problems = found["problems"]
    for words in (
        ("--metric is 'l2'",),
        ("--targets has 40 rows but there are 2 ids",),
        ("NaN", "row 3"),
        ("zero vector", "row 5"),
        ("--targets is not of unit length", "to 3"),
        ("--query-bank is not of unit length",),
        ("--target-bank", "no file 'no.npy'"),
        ("--query-bank has dimension 5 but --targets has 16",),
        ("99",),
        ("--target-prior has shape (3,)",),
    ):
        assert any(all(word in each for word in words) for each in problems), (words, problems)
    assert len(problems) == len(set(problems)) == 10
    assert (ended.code, found["ready"], found["next"]) == (2, False, None)
    assert ended.err == "unhub: 10 problems found; fix them and check again.\n"


def test_problems_are_sentences_for_people(run: Run) -> None:
    ended = run("check", "--queries", "queries.npy", "--targets", "targets.npy", "--query-bank", "queries.npy")
    assert ended.code == 2
    assert f"problem: {QUERIES} of {QUERIES} test queries are also in --query-bank" in ended.out
    assert "ready" not in ended.out
    assert run("check", *VECTORS[:4], "--query-bank", "queries.npy", "--allow-overlap").code == 0


def test_matrices_must_share_their_axes(run: Run) -> None:
    np.save("wide.npy", np.load("bank_scores.npy")[:, :30])
    np.save("cross.npy", np.zeros((7, 3), dtype=np.float32))
    flags = split("--scores scores.npy --query-bank-scores wide.npy --cross-bank-scores cross.npy")
    found = json.loads(run("check", *flags, "--json").out)
    assert len(found["problems"]) == 2
    assert f"--query-bank-scores has 30 columns but --scores has {TARGETS} columns" in found["problems"][0]
    assert "--cross-bank-scores has 7 rows but --query-bank-scores has 300 rows" in found["problems"][1]


def test_facts_for_programs(run: Run) -> None:
    Path("targets.ids.txt").write_bytes(Path("ids.txt").read_bytes())
    found = json.loads(run("check", *VECTORS, "--json").out)
    assert found["ready"] is True
    assert found["files"]["targets"]["ids"] is True
    assert (found["files"]["query_bank"]["rows"], found["files"]["query_bank"]["dtype"]) == (300, "float32")
    assert found["scores"]["tau_auto"] * 3 == pytest.approx(found["scores"]["std"])
    assert found["cost"]["whole_bytes"] == 300 * 40 * 4
    assert found["cost"]["seconds"] < 1


def test_answers_without_queries_are_noted(run: Run) -> None:
    ended = run("check", "--targets", "targets.npy", "--relevant", "relevant.tsv")
    assert "note: relevant was not looked at" in ended.out
    assert "next:" not in ended.out


def test_a_temperature_that_wants_more_digits_changes_the_plan(run: Run) -> None:
    flags = "--targets", "targets.npy", "--query-bank", "bank.npy"
    memory = str(int(1.7 * 4 * TARGETS * len(np.load("bank.npy"))))
    usual, large = (
        json.loads(run("check", *flags, "--tau", tau, "--memory", memory, "--json").out) for tau in ("auto", "10")
    )
    assert (usual["cost"]["plan"], large["cost"]["plan"]) == ("cached", "partly cached")
    assert "--tau 10.0" in large["next"]
    for wrong in ("warm", "0", "-1"):
        ended = run("check", *flags, "--tau", wrong)
        assert ended.code == 2
        assert "tau is" in ended.err


@pytest.fixture
def log(run: Run) -> tuple[str, ...]:
    """A bank that repeats its popular queries, and the clicks on them; "flat.tsv" has those of even traffic."""
    rng = np.random.default_rng(4)
    popular = np.concatenate(
        [np.arange(60), rng.choice(60, 500, p=1 / np.arange(1, 61) / (1 / np.arange(1, 61)).sum())]
    )
    np.save("log.npy", np.load("bank.npy")[popular])
    for name, targets in (("clicks", popular % TARGETS), ("flat", np.arange(len(popular)) % TARGETS)):
        Path(f"{name}.tsv").write_text("".join(f"{row}\t{target}\n" for row, target in enumerate(targets)))
    np.save("prior.npy", np.linspace(1, 2, TARGETS))
    return ("--targets", "targets.npy", "--query-bank", "log.npy")


@pytest.mark.parametrize(
    ("more", "popularity"),
    [
        ("", "--popularity own_log"),
        ("--clicks clicks.tsv", "--popularity clicks --clicks clicks.tsv"),
        ("--clicks flat.tsv", ""),
        ("--target-prior prior.npy", "--own-log"),
    ],
)
@pytest.mark.parametrize("test", ["", "--queries queries.npy --relevant relevant.tsv"])
def test_the_next_command_names_the_popularity(
    run: Run, log: tuple[str, ...], more: str, popularity: str, test: str
) -> None:
    ended = run("check", *log, *split(more), *split(test))
    words = next_command(ended.out)
    assert words[0] == ("evaluate" if test else "fit")
    told = ("--popularity", "--clicks", "--own-log")
    kept = [
        word for at, word in enumerate(words) if word in told or (words[at - 1] in told and words[at - 1] != told[2])
    ]
    assert kept == split(popularity)
    assert run(*words).code == 0


def test_the_traffic_is_told_in_flags(run: Run, log: tuple[str, ...]) -> None:
    ended = run("check", *log)
    assert (
        "). If it is this gallery's own log, pass --popularity own_log, and with clicks and about 50 judged queries "
        "--popularity clicks: the clicks are used only if those prefer them." in ended.out
    )
    assert "Traffic: can't tell (" in run("check", "--targets", "targets.npy", "--query-bank", "bank.npy").out
