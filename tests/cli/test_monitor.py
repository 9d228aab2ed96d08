"""``unhub monitor``: exit codes for cron, the history beside the correction, and one sentence on bad input."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import unhub

from .conftest import Run, plain, unit

MONITOR = split("monitor c.unhub --recent recent.npy")


DIM, TARGETS = 24, 80


@pytest.fixture(autouse=True)
def fitted(run: Run, folder: Path) -> None:
    """A correction that is worth serving: pictures with many hubs, and captions of them."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=DIM)
    targets = unit(rng.normal(size=(TARGETS, DIM)) + rng.gamma(1.0, 0.8, size=(TARGETS, 1)) * common)
    np.save("targets.npy", targets)
    for name, count in (("bank", 500), ("recent", 120), ("few", 40)):
        rows = rng.integers(0, TARGETS, count)
        np.save(f"{name}.npy", unit(targets[rows] + 0.12 * common + 0.2 * rng.normal(size=(count, DIM))))
    unhub.fit("sn", targets="targets.npy", query_bank="bank.npy").save("c.unhub")


def test_each_run_is_a_line_beside_the_correction(run: Run) -> None:
    first, second = run(*MONITOR), run(*MONITOR)
    assert (first.code, second.code) == (0, 0)
    assert first.out.startswith("Fine: 120 recent queries support strength ")
    assert second.out.endswith("run 2 of this correction in c.history.jsonl\n")
    assert plain(second.out)
    lines = [json.loads(line) for line in Path("c.history.jsonl").read_text().splitlines()]
    assert [each["status"] for each in lines] == ["fine", "fine"]
    assert "baseline" in first.out.splitlines()[1]
    assert lines[0]["date"][:10] in second.out.splitlines()[1]


def test_other_queries_end_with_4_and_json_says_why(run: Run) -> None:
    rng = np.random.default_rng(0)
    target = np.load("targets.npy")
    np.save("other.npy", unit(-target.mean(axis=0) + 0.3 * rng.normal(size=(200, DIM))))
    run(*MONITOR)
    ended = run("monitor", "c.unhub", "--recent", "other.npy", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["status"]) == (4, "refit")
    assert found["sentence"].startswith("Refit: recent queries support strength ")
    assert found["history"] == "c.history.jsonl"
    assert found["baseline"]["status"] == "fine"


def test_a_new_hub_ends_with_3(run: Run) -> None:
    rng = np.random.default_rng(0)
    run(*MONITOR, "--k", "3")
    recent = np.load("recent.npy")
    recent[:36] = unit(np.load("targets.npy")[9] + 0.1 * rng.normal(size=(36, DIM)))
    np.save("recent.npy", recent)
    ended = run(*MONITOR, "--k", "3")
    assert ended.code == 3, ended.out
    assert "new hub" in ended.out


def test_nothing_is_written_without_a_history(run: Run) -> None:
    assert run(*MONITOR, "--no-history").code == 0
    assert not Path("c.history.jsonl").exists()
    assert run(*MONITOR, "--history", "other.jsonl").code == 0
    assert Path("other.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--recent few.npy", "--recent has 40"),
        ("", "--recent is missing; give queries that are asked now."),
        ("--recent recent.npy --history a --no-history", "--history and --no-history came together"),
        ("--recent recent.npy --date never", "--date is 'never'; write it as 2026-11-18"),
        ("--recent recent.npy --history ids.txt", "line 1 of ids.txt is not of a history that unhub wrote"),
        ("--recent recent.npy --history no/where.jsonl", "no; make it first."),
    ],
)
def test_bad_input_is_one_sentence(run: Run, words: str, sentence: str) -> None:
    ended = run("monitor", "c.unhub", *split(words))
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


def test_the_report_draws_the_history_in_the_order_of_its_dates(run: Run) -> None:
    run(*MONITOR, "--date", "2026-03-09")
    run(*MONITOR, "--date", "2026-03-02")
    ended = run(*split("report c.unhub -o c.html --json"))
    assert [each["date"][:10] for each in json.loads(ended.out)["history"]] == ["2026-03-02", "2026-03-09"]
    text = Path("c.html").read_text()
    assert "2 runs of unhub monitor; the last on 2026-03-09" in text
    assert "Gain over 2 runs: from" in text
    Path("c.history.jsonl").rename("elsewhere.jsonl")
    assert not json.loads(run(*split("report c.unhub --json")).out)["history"]
    assert len(json.loads(run(*split("report c.unhub --json --history elsewhere.jsonl")).out)["history"]) == 2
