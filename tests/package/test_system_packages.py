"""The script of ``make test`` that installs Debian packages: it waits for locks, names what is lacking, asks again."""

import fcntl
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "system_packages.py"
HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("system_packages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def held(tmp_path):
    """A lock file that another process holds, as apt does, until its stdin is closed."""
    path = tmp_path / "lock"
    path.touch()
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        yield path, holder
        if not holder.stdin.closed:
            holder.stdin.close()


def test_a_lock_that_somebody_holds_is_waited_for(script, held, monkeypatch, capsys):
    path, holder = held
    pauses = []

    def let_go(seconds):
        pauses.append(seconds)
        holder.stdin.close()
        holder.wait()

    monkeypatch.setattr(time, "sleep", let_go)
    assert script.wait_until_free([str(path)])
    assert pauses == [1]
    assert capsys.readouterr().out == f"waiting for another program, which holds {path}\n"


def test_nobody_is_waited_for_longer_than_allowed(script, held):
    path, _ = held
    assert not script.wait_until_free([str(path)], seconds=0)


def test_a_lock_that_is_free_or_not_there(script, tmp_path, capsys):
    (tmp_path / "lock").touch()
    assert script.wait_until_free([str(tmp_path / "lock"), str(tmp_path / "no lock")])
    assert capsys.readouterr().out == ""
    with open(tmp_path / "lock", "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and it was let go again


def test_without_the_right_to_install_nothing_is_tried_and_the_name_is_said(tmp_path):
    """As another user, or without apt-get on the path: the same sentence, and the caller sets no mark."""
    empty = {name: value for name, value in os.environ.items() if name != "PATH"} | {"PATH": str(tmp_path)}
    command = [sys.executable, str(SCRIPT), "unhub-no-such-package"]
    done = subprocess.run(command, env=empty, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == (
        "not installed, and only root can with apt-get: unhub-no-such-package; tests that need them are skipped\n"
    )


def test_what_is_there_needs_nothing(script):
    if not Path("/usr/bin/dpkg-query").exists():
        assert not script.installed("dpkg")
    else:
        assert script.installed("dpkg")
        assert not script.installed("unhub-no-such-package")
        assert script.main(["dpkg"]) == 0


@pytest.mark.parametrize(("code", "marked"), [(0, True), (1, False)])
def test_make_sets_the_mark_only_when_everything_is_there(tmp_path, code, marked):
    """The rule itself, with an environment whose python ends as told."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    python = tmp_path / "venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexit {code}\n")
    python.chmod(0o755)
    (tmp_path / "venv" / ".ready").touch()
    os.utime(tmp_path / "venv" / ".ready", (2**31, 2**31))  # newer than anything it depends on
    make = ["make", f"VENV={tmp_path}/venv", f"{tmp_path}/venv/.system"]
    for _ in range(2):
        subprocess.run(make, cwd=SCRIPT.parents[1], check=True, capture_output=True)
        if marked:
            os.utime(tmp_path / "venv" / ".system", (2**31, 2**31))
    assert (tmp_path / "venv" / ".system").exists() == marked
    assert (tmp_path / "asked").read_text() == "asked\n" * (1 if marked else 2)
