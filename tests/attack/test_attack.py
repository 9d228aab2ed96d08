"""The quick attack: a fixed sample of what ``make attack`` tries, each part in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attack import __main__ as long_attack
from attack.child import Ended, run
from attack.commands import COMMANDS
from attack.events import Events
from attack.forgeries import addresses
from attack.formats import kinds
from attack.ledger import Budget, Ledger, from_json, judge, table


@pytest.mark.parametrize("part", long_attack.PARTS)
def test_no_attack_succeeds(part: str) -> None:
    command = [sys.executable, "-m", "attack", part, "--scale", "1", "--seed", "0"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "no attack succeeded" in done.stdout


def test_every_command_that_writes_is_killed() -> None:
    from unhub.cli import COMMANDS as ALL

    reading = {"check", "diagnose", "serve"}
    long = {"demo"}  # minutes: what it keeps is written by the same functions as in fit and encode
    adding = {"monitor"}  # every run adds a line, so a second run is not the first one; it replaces its file as all do
    assert {each.words.split()[0] for each in COMMANDS.values()} == set(ALL) - reading - long - adding


def test_every_format_is_changed_and_every_store_is_named() -> None:
    from unhub.io.formats import FORMATS
    from unhub.stores.adapter import STORES

    same = {".pth": ".pt", ".hdf5": ".h5"}
    endings = {Path(each.file).suffix for each in kinds().values()}
    assert {same.get(ending, ending) for ending in FORMATS} <= endings
    schemes = {each.partition("://")[0] for each in addresses(1, Path("/canary"))}
    assert set(STORES) <= schemes


def ended(**changes: object) -> Ended:
    fields = {"code": 0, "signal": None, "hung": False, "out": "", "err": "", "grown": 0}
    return Ended(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        (ended(), "answered"),
        (ended(code=2, err="unhub: x.npy is cut short.\n"), "refused"),
        (ended(code=2, err="unhub: note: slow.\nunhub: x.npy is cut short.\n"), "refused"),
        (ended(code=2, err="unhub: one.\nunhub: two.\n"), "sentence"),
        (ended(code=2, err="unhub: \x1b[31mred.\n"), "sentence"),
        (ended(code=2), "sentence"),
        (ended(out="\x1b[31mred"), "sentence"),
        (ended(code=1, err="unhub: this is a bug (KeyError: 'x').\n"), "bug"),
        (ended(code=1, err="Traceback (most recent call last):\n"), "traceback"),
        (ended(code=None, signal=11), "crash"),
        (ended(code=None, signal=9, hung=True), "hang"),
        (ended(code=2, err="unhub: x.npy is cut short.\n", grown=2 << 30), "memory"),
    ],
)
def test_how_an_attack_is_judged(how: Ended, outcome: str) -> None:
    assert judge(how)[0] == outcome


def test_a_child_has_limits_and_is_ended() -> None:
    """The limits themselves, in a process that may fork."""
    code = (
        "import os, signal, sys, time; from attack.child import run\n"
        "print(run(lambda: time.sleep(60), seconds=0.2).hung)\n"
        "print(run(lambda: bytearray(3 << 30) and 0).code)\n"
        "print(run(lambda: os.kill(os.getpid(), signal.SIGSEGV)).signal)\n"
        "print(run(lambda: sys.stderr.write('said') and 7).code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "1", str(int(signal.SIGSEGV)), "7"], done.stderr


def test_a_process_is_killed_before_an_event(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from attack.events import Events\n"
        "folder = Path(sys.argv[1]); Events(folder, 3).install()\n"
        "(folder / 'a').write_text('a'); os.rename(folder / 'a', folder / 'b'); (folder / 'c').write_text('c')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["b"]
    assert Events(tmp_path).names == []


def test_counts_come_back_and_failures_are_named() -> None:
    ledger = Ledger("kills")
    ledger.note("resumed", "fit killed")
    ledger.note("damage", "fit killed twice", "it is\ngone")
    again = from_json(ledger.as_json())
    assert again == ledger
    assert again.failures == ["kills: fit killed twice: damage: it is gone"]
    assert "| kills | 2 | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |" in table([again])
    page = Path(__file__).parents[2] / "docs" / "reliability.md"
    assert table([]).splitlines()[0] in page.read_text()
    assert Budget() == Budget(1, 0)
    with pytest.raises(ValueError, match="fine"):
        ledger.note("fine", "no such outcome")
    assert callable(run)
