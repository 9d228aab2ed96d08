"""stdout and stderr that are closed, full, or read by somebody who leaves: quiet, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import split
from typing import TextIO

import pytest

import unhub
from unhub.cli import COMMANDS, main

from .conftest import environment, script

FULL = "unhub: cannot use standard output: the disk is full; free some space or choose another place.\n"

WRITING = {
    "fit": "fit --targets targets.npy --query-bank bank.npy -o {} --json",
    "search": "search c.unhub --queries queries.npy -o {}.jsonl --json",
    "guard": "guard c.unhub --recent recent.npy -o {}.unhub",
    "extend": "extend c.unhub --targets new_targets.npy -o {}.csv",
    "evaluate": "evaluate --scores scores.npy --relevant relevant.tsv --methods none,is -o {}.json",
    "diagnose": "diagnose --scores scores.npy -o {}.json",
    "import": "import --scores scores.npy -o {}",
    "sweep": "sweep experiment.toml --over strength -o {}",
    "reproduce": "reproduce init -o {}.toml",
    "report": "report experiment.toml -o {}.html",
    "export": "export store.unhub --to faiss://photos.faiss",
    "rollback": "rollback store.unhub --to faiss://photos.faiss",
}
PRINTING = {
    "nothing": "",
    "--help": "--help",
    "--version": "--version",
    "the help of a command": "search --help",
    "check": "check --targets targets.npy",
    "demo": "demo --help",
    "serve": "serve --help",
    "encode": "encode --help",
    "bank": "bank --help",
    "monitor": "monitor --help",
}


def nobody_reads() -> TextIO:
    read, write = os.pipe()
    os.close(read)
    return open(write, "w")


STREAMS: dict[str, Callable[[], TextIO | None]] = {
    "closed": lambda: None,
    "left": nobody_reads,
    "full": lambda: open("/dev/full", "w"),  # noqa: SIM115
}
"""what stdout can be, besides well"""


@pytest.fixture
def problem(folder: Path) -> Path:
    given = {"query_bank": folder / "bank.npy", "tau": "auto"}
    unhub.fit("sn", targets=folder / "targets.npy", **given).save(folder / "c.unhub")
    unhub.fit("sn", targets=f"faiss://{folder / 'photos.faiss'}", **given).save(folder / "store.unhub")
    return folder


def test_every_command_is_here() -> None:
    assert set(COMMANDS) <= {*WRITING, *PRINTING}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", [*WRITING, *PRINTING])
def test_a_stdout_that_takes_nothing(
    name: str, stream: str, problem: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = split((WRITING | PRINTING)[name].format("out.unhub" if name == "fit" else "out"))
    before = {path.name for path in problem.iterdir()}
    if name == "rollback":
        assert main(split(WRITING["export"])) == 0
        capsys.readouterr()
    out = STREAMS[stream]()
    monkeypatch.setattr(sys, "stdout", out)
    code = main(words)
    if out is not None:
        out.close()  # nothing is left that could fail now
    told = [line for line in capsys.readouterr().err.splitlines(keepends=True) if ": note: " not in line]
    assert (code, told) == ((2, [FULL]) if stream == "full" else (0, []))
    written = {path.name for path in problem.iterdir()} - before
    assert bool(written) == (name in WRITING and name != "rollback")
    if name == "fit":
        assert unhub.load("out.unhub").bias.size == 40


@pytest.mark.parametrize(
    ("how", "code", "told"),
    [
        ("{} >&-", 0, ""),
        ("{} <&- >&- 2>&-", 0, ""),
        ("{} >/dev/full", 2, FULL),
        ("{} >/dev/full 2>/dev/full", 2, ""),
        ("set -o pipefail; {} | true", 0, ""),
    ],
)
def test_as_a_shell_does_it(how: str, code: int, told: str, problem: Path) -> None:
    """A closed place is not taken by the next file, which prints would then go into."""
    command = f"{' '.join(script())} search c.unhub --queries queries.npy --json -o out.jsonl"
    done = subprocess.run(
        ["bash", "-c", how.format(command)], cwd=problem, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", told)
    assert len((problem / "out.jsonl").read_text().splitlines()) == 400


def test_help_in_ascii_to_a_reader_who_left(problem: Path) -> None:
    """typer would write past us where the encoding is ASCII."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {' '.join(script())} --help | true"],
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("stream", [None, "/dev/full"])
def test_an_error_that_cannot_be_told_keeps_its_code(
    stream: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None if stream is None else open(stream, "w"))  # noqa: SIM115
    assert main(["check", "--targets", "nowhere.npy"]) == 2


def test_a_connection_that_breaks_is_not_a_reader_who_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**given: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(unhub, "diagnose", broken)
    assert main(["diagnose", "--scores", "scores.npy"]) == 2
    assert capsys.readouterr().err == "unhub: the other end closed the connection; try again.\n"
