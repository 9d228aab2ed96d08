"""The history of monitor: complete lines, bounded, safe to read from anyone, and two runs at once lose nothing."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from unhub import InputError
from unhub.api import monitor_history
from unhub.api.monitor_history import (
    FIGURES,
    Figure,
    MonitorRun,
    append_run,
    history_beside,
    name_in_history,
    read_history,
)

RUN = MonitorRun(
    date="2026-11-18T09:30:00+00:00",
    correction="a" * 32,
    served=0.9,
    status="fine",
    k=10,
    queries=200,
    targets=60,
    figures={name: Figure(0.5, 0.02) for name in FIGURES if name != "judged strength"},
    hubs={"cat": 40},
)


def test_a_run_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "x.history.jsonl"
    runs = [RUN, replace(RUN, correction="b" * 32), replace(RUN, status="refit", new_hubs={"dog": 7}, new=3)]
    for each in runs:
        append_run(file, each)
    assert read_history(file) == tuple(runs)
    assert read_history(file, "a" * 32) == (runs[0], runs[2])
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_no_file_is_no_history(tmp_path):
    assert read_history(tmp_path / "none.jsonl") == ()


def test_the_newest_runs_and_every_baseline_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(monitor_history, "MOST_RUNS", 6)
    file = tmp_path / "x.jsonl"
    other, fewer = replace(RUN, correction="b" * 32), replace(RUN, k=5)
    for each in (other, fewer, replace(other, queries=201), replace(fewer, queries=201)):
        append_run(file, each)
    for queries in range(50, 60):
        append_run(file, replace(RUN, queries=queries))
    kept = read_history(file)
    assert kept[:2] == (other, fewer)
    assert [each.queries for each in kept[2:]] == [50, 57, 58, 59]


def test_of_too_many_baselines_those_in_use_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(monitor_history, "MOST_RUNS", 3)
    file = tmp_path / "x.jsonl"
    for name in "abcda":
        append_run(file, replace(RUN, correction=name * 32))
    assert [each.correction[0] for each in read_history(file)] == ["c", "d", "a"]


@pytest.mark.parametrize("letter", ["猫", "é", "😸", '"', "\\", "x"])
@pytest.mark.parametrize("length", [30, 37, 50, 75, 80, 150, 151])
def test_the_longest_line_is_read_as_it_was_written(tmp_path, letter, length):
    file = tmp_path / "x.jsonl"
    hubs = [
        {name_in_history(f"{each:02}{letter * (length - 3)}{side}"): (1 << 40) - each for each in range(50)}
        for side in "ab"
    ]
    figures = {name: Figure(-1.234567890123456e-100, 1.234567890123456e-100) for name in FIGURES}
    most = dict.fromkeys(("queries", "targets", "new", "gone", "changed", "k"), 1 << 40)
    worst = replace(RUN, correction="猫" * 64, figures=figures, hubs=hubs[0], new_hubs=hubs[1], **most)
    append_run(file, worst)
    append_run(file, RUN)
    assert read_history(file) == (worst, RUN)


def test_runs_at_once_lose_nothing(tmp_path):
    file = tmp_path / "x.jsonl"
    code = (
        "import sys; from dataclasses import replace; from unhub.api.monitor_history import *\n"
        "run = MonitorRun.from_dict(__import__('json').loads(sys.argv[2]))\n"
        "for each in range(8): append_run(sys.argv[1], replace(run, queries=int(sys.argv[3]) + each))"
    )
    start = [sys.executable, "-c", code, str(file), json.dumps(RUN.to_dict())]
    running = [subprocess.Popen([*start, str(first)]) for first in (100, 200, 300)]
    assert [each.wait(120) for each in running] == [0, 0, 0]
    assert sorted(each.queries for each in read_history(file)) == [
        first + each for first in (100, 200, 300) for each in range(8)
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"queries": 0}, "its queries is not a whole number from 1 to 1099511627776"),
        ({"queries": True}, "its queries is not a whole number from 1 to 1099511627776"),
        ({"served": float("nan")}, "its served is not a number from 0 to 100"),
        ({"status": "fine\n"}, "its status is not one of fine, look again, refit"),
        ({"date": "yesterday"}, "Invalid isoformat string: 'yesterday'"),
        ({"correction": "\x1b[2J"}, "its correction is not a text of at most 64 characters"),
        ({"hubs": {"cat": "many"}}, "its cat is not a whole number from 0 to 1099511627776"),
        ({"hubs": {str(each): 1 for each in range(60)}}, "its hubs is not a table of at most 50 values"),
        ({"figures": {"strength": [0.5]}}, "its strength is not a number with its standard error"),
        ({"figures": {"strength": [0.5, -1]}}, "its strength is not a number from 0 to 1e+100"),
        ({"figures": {"strength": [0.5, 0]}}, "it has no gain"),
        ({"figures": {"speed": [0.5, 0]}}, "its figures are not a table of strength, judged strength, gain, churn, "),
    ],
)
def test_a_field_that_unhub_would_not_write_is_told(tmp_path, change, reason):
    file = tmp_path / "x.jsonl"
    append_run(file, RUN)
    with file.open("a") as sink:
        sink.write(json.dumps(RUN.to_dict() | change) + "\n")
    with pytest.raises(InputError) as told:
        read_history(file)
    assert str(told.value).startswith(f"line 2 of {file} is not of a history that unhub wrote ({reason}")
    assert str(told.value).endswith("remove the file or name another.")


@pytest.mark.parametrize("line", [b"junk", b"[]", b"[" * 19_000, b"{}", b'"' + b"x" * 30_000 + b'"', b"\xff\xfe"])
def test_what_is_no_line_of_a_history_is_told(tmp_path, line):
    file = tmp_path / "x.jsonl"
    file.write_bytes(line + b"\n")
    with pytest.raises(InputError, match=r"line 1 of .* is not of a history that unhub wrote"):
        read_history(file)
    with pytest.raises(InputError, match="line 1 of"):
        append_run(file, RUN)
    assert file.read_bytes() == line + b"\n"


def test_a_link_beside_the_correction_is_not_followed(tmp_path):
    other = tmp_path / "other.jsonl"
    append_run(other, RUN)
    link = tmp_path / "x.history.jsonl"
    link.symlink_to(other)
    with pytest.raises(InputError, match="is a link to"):
        append_run(link, RUN, named=False)
    append_run(link, RUN)
    assert len(read_history(other)) == 2
    assert link.is_symlink()


def test_names_and_places():
    assert str(history_beside("shop/photos.unhub")).endswith("shop/photos.history.jsonl")
    assert name_in_history("grinning cat 😸") == "grinning cat 😸"
    assert name_in_history("猫" * 50) == "猫" * 50
    for strange in ("x" * 151, "猫" * 51, '"' * 76, "a\nb", "\u202ecat", "\ud800"):
        assert name_in_history(strange).startswith("sha256:")
        assert len(name_in_history(strange)) == 39
