"""The command as a process: signals, pipes, terminals, start-up, and errors that are ours."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import unhub
from unhub.cli import main
from unhub.foundation.wording import argument, setting

from .conftest import Run, environment, script, unit

pty = pytest.importorskip("pty")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def at_a_terminal(folder: Path, *words: str, interrupt_at: str | None = None, file: str = "") -> tuple[int, str]:
    """Runs a command with a terminal for stdout and stderr.

    Sends Ctrl-C, if asked, once a word has been seen and a file is there.
    """
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [*script(), *words], cwd=folder, env=environment(TERM="xterm-256color"), stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen, sent, deadline = "", False, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other end has closed
                    break
                if not part:
                    break
                seen += part.decode()
            if interrupt_at is not None and interrupt_at in seen and (folder / file).exists() and not sent:
                started.send_signal(signal.SIGINT)
                sent = True
        return started.wait(timeout=30), seen
    finally:
        started.kill()
        started.wait()
        os.close(ours)


@pytest.fixture
def large(folder: Path) -> Path:
    """A problem that takes minutes at the rounds asked for below."""
    rng = np.random.default_rng(0)
    np.save(folder / "large.npy", unit(rng.normal(size=(3000, 8))))
    np.save(folder / "large_bank.npy", unit(rng.normal(size=(3000, 8))))
    return folder


@pytest.mark.parametrize("there_before", [False, True])
def test_ctrl_c_during_a_fit_shows_progress_before_and_loses_nothing(there_before: bool, large: Path) -> None:
    if there_before:
        (large / "out.unhub").write_text("what was there")
    before = sorted(path.name for path in large.iterdir())
    words = split("fit --targets large.npy --query-bank large_bank.npy --iterations 100000 -o out.unhub")
    code, seen = at_a_terminal(large, *words, interrupt_at="%", file="out.unhub.part")
    assert code == 130
    assert "\x1b[" in seen
    assert re.search(r"sn, round [\d]+ of 100000", seen)
    assert "rows/s" in seen
    assert "run the same command with --resume to continue" in seen.splitlines()[-1]
    assert "Traceback" not in seen
    assert sorted(path.name for path in large.iterdir()) == sorted([*before, "out.unhub.part"])
    assert not there_before or (large / "out.unhub").read_text() == "what was there"


def test_a_terminal_shows_colours_and_comparisons_and_a_pipe_neither(folder: Path, shell: Run) -> None:
    words = split("evaluate --scores scores.npy --relevant diagonal --tau auto")
    code, seen = at_a_terminal(folder, *words)
    assert code == 0
    assert COLOUR.search(seen)
    assert "R@1 against none" in seen
    bare = COLOUR.sub("", seen)
    piped = shell(*words)
    assert "\x1b" not in piped.out
    assert "against none" not in piped.out
    for line in piped.out.splitlines():
        if line.startswith(("none", "sn")):
            assert line.split() in [other.split() for other in bare.splitlines()]


def test_a_terminal_shows_the_first_hits_and_says_how_many_more(folder: Path) -> None:
    unhub.fit("sn", targets=folder / "targets.npy", query_bank=folder / "bank.npy", tau="auto").save(folder / "c.unhub")
    code, seen = at_a_terminal(folder, *split("search c.unhub --queries queries.npy --k 2 --raw"))
    assert code == 0
    assert "raw_score" in seen
    assert "and 35 more queries; -o hits.jsonl writes all of them" in seen
    code, seen = at_a_terminal(folder, *split("extend c.unhub --targets bank.npy"))
    assert "and 290 more; -o bias.csv writes all of them" in seen


def test_a_pipe_that_closes_early_is_no_error(folder: Path) -> None:
    np.save(folder / "many.npy", np.tile(np.load(folder / "queries.npy"), (200, 1)))
    unhub.fit("sn", targets=folder / "targets.npy", query_bank=folder / "bank.npy", tau="auto").save(folder / "c.unhub")
    command = f"set -o pipefail; {' '.join(script())} search c.unhub --queries many.npy | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"query\trank\tid\tscore\n", b"")


def test_text_that_the_encoding_lacks_is_escaped(folder: Path, shell: Run) -> None:
    (folder / "odd.txt").write_text("".join(f"größe-{row}\n" for row in range(40)), encoding="utf-8")
    words = split("diagnose --scores scores.npy --target-ids odd.txt")
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert "gr\\xf6" in shell(*words, **ascii_only).out
    assert "größe" in shell(*words, PYTHONIOENCODING="utf-8").out


def test_ids_cannot_repaint_a_terminal(run: Run) -> None:
    Path("odd.txt").write_text("".join(f"\x1b[31mred-{row}\n" for row in range(40)))
    ended = run("diagnose", "--scores", "scores.npy", "--target-ids", "odd.txt")
    assert "\x1b" not in ended.out
    assert "\\x1b[31mred-" in ended.out


def test_a_bug_is_one_sentence_and_a_traceback_only_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**given: object) -> None:
        raise RuntimeError("wheels\ncame off")

    monkeypatch.setattr(unhub, "diagnose", broken)
    words = ["diagnose", "--scores", "scores.npy"]
    ended = run(*words)
    assert ended.code == 1
    assert ended.err == (
        "unhub: this is a bug (RuntimeError: wheels came off); please report it with the output of "
        "'unhub --debug ...'.\n"
    )
    for debugged in (run("--debug", *words), run(*words, "--debug")):
        assert debugged.code == 1
        assert "Traceback" in debugged.err
        assert "in broken" in debugged.err
    monkeypatch.setenv("UNHUB_DEBUG", "1")
    assert "Traceback" in run(*words).err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "x.npy"), "x.npy: permission denied"),
        (OSError(28, "No space left on device", "y"), "y: the disk is full"),
        (IsADirectoryError(21, "Is a directory", "z"), "z: it is a folder"),
        (MemoryError(), "out of memory"),
        (OSError(5, "Input/output error", "w"), "w: the disk reports an error"),
        (RuntimeError("can't start new thread"), "allows no more threads; set OMP_NUM_THREADS=1"),
    ],
)
def test_errors_of_the_machine_are_sentences(
    error: Exception, words: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(**given: object) -> None:
        raise error

    monkeypatch.setattr(unhub, "diagnose", failing)
    ended = run("diagnose", "--scores", "scores.npy")
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1


def test_an_interrupt_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(unhub, "diagnose", interrupted)
    ended = run("diagnose", "--scores", "scores.npy")
    assert (ended.code, ended.err) == (130, "unhub: interrupted\n")


def test_no_words_are_a_call_for_help(run: Run) -> None:
    ended = run()
    assert ended.code == 0
    assert ended.out == run("--help").out
    assert run("--version").out == f"unhub {unhub.__version__}\n"


@pytest.mark.parametrize(("module", "loaded"), [("unhub", False), ("unhub.cli", True)])
def test_only_the_command_line_loads_its_packages(module: str, loaded: bool) -> None:
    code = f"import sys, {module}; print('typer' in sys.modules or 'rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout == f"{loaded}\n"


def test_help_does_without_what_only_work_needs() -> None:
    heavy = "{'scipy', 'ot', 'torch', 'pyarrow', 'h5py', 'zarr', 'unhub.demo'}"
    code = (
        f"import sys, unhub.cli; unhub.cli.main(['--help']); print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stderr == "[]\n"


def test_main_is_quiet_about_warnings_elsewhere(folder: Path, recwarn: pytest.WarningsRecorder) -> None:
    assert main(["evaluate", "--scores", "scores.npy", "--relevant", "diagonal"]) == 0
    assert not recwarn.list


FILE_LIMIT = """
import resource, sys
from unhub import cli
from unhub.api import checkpoint
checkpoint.EVERY = 0.0
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(cli.main(sys.argv[2:]))
"""


def test_a_result_that_cannot_be_written_leaves_its_rounds(folder: Path) -> None:
    """The file of the rounds is small, that of the result holds the vectors too."""
    words = "fit", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "a.unhub"

    def fit(limit: int, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", FILE_LIMIT, str(limit), *words, *more],
            cwd=folder, env=environment(), capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    assert fit(1 << 30).returncode == 0
    whole = unhub.load(folder / "a.unhub").bias
    size = (folder / "a.unhub").stat().st_size
    (folder / "a.unhub").unlink()
    done = fit(size - 1)
    assert done.returncode == 2
    assert "--resume" in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "a.unhub.part").exists()
    assert not (folder / "a.unhub").exists()
    assert fit(1 << 30, "--resume").returncode == 0
    assert not (folder / "a.unhub.part").exists()
    np.testing.assert_array_equal(unhub.load(folder / "a.unhub").bias, whole)


def test_ctrl_c_while_the_command_is_loaded(folder: Path) -> None:
    code = (
        "import sys\n"
        "from unhub import __main__ as entry\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'unhub.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.exit(entry.main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "unhub: interrupted\n")


def test_warnings_name_arguments_as_flags_and_leave_no_filter_behind(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diagnose(**_: object) -> None:
        warnings.warn(unhub.UnhubWarning(f"pass {setting('which', 'sn')} or {argument('query_bank')}"), stacklevel=1)
        raise unhub.InputError("new_targets", "is empty", "give some")

    monkeypatch.setattr(unhub, "diagnose", diagnose)
    before = list(warnings.filters), warnings.showwarning
    ended = run("diagnose", "--scores", "scores.npy")
    assert ended.err == "unhub: note: pass --method sn or --query-bank\nunhub: --targets is empty; give some.\n"
    assert (list(warnings.filters), warnings.showwarning) == before
