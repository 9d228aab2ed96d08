"""Every reader on changed files and on bombs, each in a child with limits.

A file is read, or refused in one sentence: within seconds, in little memory, without a crash, and without running what
is in it.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from attack import bombs, warm
from attack.child import Ended, run
from attack.commands import enter, run_command
from attack.formats import PROBE, Kind, change_one, kinds, told
from attack.ledger import Budget, Ledger, judge

SECONDS = 30.0
CHANGES = 5
"""changed files of each kind in the quick attack"""


def attack(budget: Budget, only: str | None = None) -> Ledger:
    """Changes files of every kind, or of one, and reads them; then the bombs."""
    warm.imported(warm.READERS, ("torch",))
    ledger = Ledger("readers")
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(Path(root), ledger)
        bench.prepare()
        for name, kind in kinds().items():
            if only in (None, name):
                bench.change(name, kind, random.Random(f"{budget.seed} {name}"), CHANGES * budget.scale)
        if only in (None, "bombs"):
            for bomb in bombs.bombs():
                bench.explode(bomb)
    return ledger


def without_traceback(ended: Ended) -> Ended:
    """How a command with --debug would have ended without it; a MemoryError behind a sentence becomes exit code 4."""
    if ended.code != 2 or "Traceback" not in ended.err:
        return ended
    asked = re.search(r"^[\w.]*MemoryError\b", ended.err, re.MULTILINE)  # not in a line of the code that is shown
    if f'{PROBE}"' in ended.err:  # a child with limits met it
        asked = None
    said = [line for line in ended.err.splitlines(keepends=True) if line.startswith("unhub: ")]
    return replace(ended, code=4 if asked else 2, err="".join(said))


class Bench:
    """A folder with a good problem in it, in which one bad file after another is read."""

    def __init__(self, root: Path, ledger: Ledger) -> None:
        self.work, self.home, self.ledger = root / "work", root / "home", ledger

    def prepare(self) -> None:
        """Writes the problem."""
        self.work.mkdir()
        self.home.mkdir()

        def work() -> None:
            from cli.conftest import write_problem

            write_problem(self.work)

        self._must(run(work, memory=None))

    def change(self, name: str, kind: Kind, rng: random.Random, count: int) -> None:
        """Reads a good file of a kind, and then changed ones."""
        path = self.work / kind.file
        self._must(run(lambda: kind.write(path), memory=None))
        honest = self._read(kind, path)
        if judge(honest)[0] != "answered":
            raise AssertionError(f"a good {name} is not read: {honest.err}")
        for _ in range(count):
            what, undo = change_one(kind, path, rng)
            self._note(f"{name}, {what}", self._read(kind, path))
            undo()
        for each in self.work.glob("x.*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _read(self, kind: Kind, path: Path) -> Ended:
        def work() -> int:
            enter(self.work, self.home)
            return told(kind.read, path, kind.part)

        ended = run(work, seconds=SECONDS)
        self._tidy()
        return ended

    def explode(self, bomb: bombs.Bomb) -> None:
        """Reads one bomb by a command."""
        name, file, write, words = bomb
        path = self.work / file

        def work() -> int:
            enter(self.work, self.home)
            return run_command(["--debug", *words.format(path=path).split()])

        self._must(run(lambda: write(path), memory=None))
        ended = without_traceback(run(work, seconds=SECONDS))
        ran = (self.work / "ran").exists()
        if ran:
            (self.work / "ran").rmdir()
            self.ledger.note_code(ended)
            self.ledger.note("leak", name, "the code in it was run")
        else:
            self._note(name, ended)
        self._tidy()
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def _note(self, case: str, ended: Ended) -> None:
        self.ledger.note_code(ended)
        outcome, evidence = judge(ended)
        if ended.code == 4:
            outcome = "memory"
        self.ledger.note(outcome, case, evidence)

    def _tidy(self) -> None:
        """Removes what a command has made of a file that was good enough."""
        for each in (*self.work.glob("made*"), *self.work.glob(".made*")):
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    @staticmethod
    def _must(ended: Ended) -> None:
        if ended.code != 0:
            raise AssertionError(ended.err or ended.signal)
