"""What a killed run left behind is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unhub.foundation import atomic
from unhub.foundation.atomic import complete_folder, replace_file

fcntl = pytest.importorskip("fcntl", reason="nothing is swept where files have no locks")

WRITE_A_FILE = """
import sys, time
from unhub.foundation.atomic import replace_file
with replace_file(sys.argv[1]) as temporary:
    temporary.write_text("half"); print(temporary, flush=True); time.sleep(60)
"""
WRITE_A_FOLDER = """
import sys, time
from pathlib import Path
from unhub.foundation.atomic import complete_folder
with complete_folder(Path(sys.argv[1])) as folder:
    (folder / "a.npy").write_text("half"); print(folder, flush=True); time.sleep(60)
"""


@contextmanager
def writing(code: str, path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that is in the middle of writing, and its temporary."""
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def killed(code: str, path: Path) -> Path:
    with writing(code, path) as (process, left):
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert left.exists()
    return left


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("code", [WRITE_A_FILE, WRITE_A_FOLDER])
def test_the_next_run_removes_what_a_killed_one_left(code: str, tmp_path: Path) -> None:
    left = [killed(code, tmp_path / "x.npy"), killed(code, tmp_path / "x.npy")]
    with replace_file(tmp_path / "another.npy") as file:
        file.write_text("new")
    assert names(tmp_path) == ["another.npy"]
    assert not any(path.exists() for path in left)


def test_a_folder_sweeps_too(tmp_path: Path) -> None:
    killed(WRITE_A_FILE, tmp_path / "x.npy")
    with complete_folder(tmp_path / "dump") as folder:
        (folder / "a.npy").write_text("new")
    assert names(tmp_path) == ["dump"]


@pytest.mark.parametrize("code", [WRITE_A_FILE, WRITE_A_FOLDER])
def test_what_a_living_process_writes_stays(code: str, tmp_path: Path) -> None:
    with writing(code, tmp_path / "x.npy") as (_, held):
        with replace_file(tmp_path / "x.txt") as file:
            file.write_text("new")
        assert held.exists()


def test_what_another_thread_or_this_one_writes_stays(tmp_path: Path) -> None:
    with replace_file(tmp_path / "x.txt") as outer, replace_file(tmp_path / "x.txt") as inner:
        inner.write_text("inner")
        outer.write_text("outer")
    assert (tmp_path / "x.txt").read_text() == "outer"
    assert names(tmp_path) == ["x.txt"]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    """Names that are nearly ours, the temporaries of 0.1.0 (nobody can tell who holds them), links, and the rest."""
    own = killed(WRITE_A_FILE, tmp_path / "x.npy").name
    others = [own.removeprefix("."), f"{own}~", own.replace("-tmp", ""), ".x-0123abcd.npy", ".x.tmp", ".env"]
    for name in others:
        (tmp_path / name).write_text("precious")
    (tmp_path / "precious.txt").write_text("precious")
    link = own.replace(own[-16:-4], "0" * 12)
    (tmp_path / link).symlink_to(tmp_path / "precious.txt")
    assert atomic.OURS.fullmatch(link)
    atomic.sweep(tmp_path)
    assert names(tmp_path) == sorted([*others, "precious.txt", link])


def test_a_folder_is_listed_once_however_often_it_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or scandir(folder))
    for turn in range(5):
        with replace_file(tmp_path / f"{turn}.txt") as file:
            file.write_text("new")
    assert listed == [tmp_path]


def test_a_temporary_of_another_machine_stays_for_a_day(tmp_path: Path) -> None:
    left = tmp_path / f".x.unhub-tmp-{'0' * 8}-{'1' * 12}.npy"
    left.write_text("somebody else's, perhaps")
    atomic.sweep(tmp_path)
    assert left.exists()
    os.utime(left, (time.time() - 90_000,) * 2)
    atomic.sweep(tmp_path)
    assert not left.exists()


def test_a_folder_that_may_not_be_listed_is_left_alone(tmp_path: Path) -> None:
    atomic.sweep(tmp_path / "nowhere")


def test_writers_and_sweeps_at_once(tmp_path: Path) -> None:
    """Every writer finds its file whole, however often others sweep between its making and its lock."""
    code = """
import sys
from pathlib import Path
from unhub.foundation.atomic import replace_file
from unhub.foundation.atomic import sweep
path = Path(sys.argv[1])
for turn in range(150):
    with replace_file(path) as temporary:
        assert temporary.exists(), "swept while it was written"
        temporary.write_text(str(turn))
        sweep(path.parent)
        assert temporary.exists(), "swept while it was written"
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / f"{n}.txt")]) for n in range(4)]
    assert [process.wait(timeout=120) for process in started] == [0] * 4
    assert names(tmp_path) == [f"{n}.txt" for n in range(4)]


def test_long_names_still_fit(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".txt")
    with replace_file(path) as file:
        file.write_text("new")
    assert path.read_text() == "new"
