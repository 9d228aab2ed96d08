"""Every command that writes, killed at file-system events and at random moments, then run again.

Three things are looked at. Right after the kill, what was there before is as it was, or already as it will be. The same
command then ends well. What it leaves is what a run without a kill leaves: the same files, the same bytes, no temporary
ones.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attack import warm
from attack.child import Ended, run
from attack.commands import COMMANDS, Command, enter, run_command
from attack.events import Events
from attack.ledger import Budget, Ledger

SECONDS = 60.0
POINTS, HEAVY_POINTS = 3, 1
"""events that the quick attack kills at, of each command"""

Files = dict[str, bytes]

_SECONDS = re.compile(rb'("seconds": )[\d.e-]+')
"""how long something took, which is the only thing that may differ in a table of results"""


def attack(budget: Budget, only: str | None = None) -> Ledger:
    """Kills every command, or one of them."""
    chosen = {name: each for name, each in COMMANDS.items() if only in (None, name)}
    heavy = any(each.heavy for each in chosen.values())
    warm.imported(*((warm.DRAWING, warm.MODELS) if heavy else ()))
    ledger = Ledger("kills")
    for name, command in chosen.items():
        _attack_one(name, command, budget, ledger)
    return ledger


@dataclass(frozen=True)
class Place:
    """The folder in which a command runs, always the same one, since files keep absolute addresses of stores."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where the command runs."""
        return self.root / "work"

    @property
    def home(self) -> Path:
        """Where libraries keep what they keep: no part of what is looked at."""
        return self.root / "home"

    @contextmanager
    def fresh(self) -> Iterator[Path]:
        """The folder as it was before the command, to be used up."""
        shutil.copytree(self.root / "before", self.folder, symlinks=True)
        try:
            yield self.folder
        finally:
            shutil.rmtree(self.folder)

    def once(self, command: Command, *, kill_at: int | None = None, after: float | None = None) -> Ended:
        """Runs the command in a child, which dies at an event or after a time; names of events go to a file."""
        folder = self.folder

        def work() -> int:
            enter(folder, self.home)
            if command.checkpoints:
                _write_checkpoints_at_once()
            events = Events(folder, kill_at)
            events.install()
            if after is not None:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process on the spot
                signal.setitimer(signal.ITIMER_REAL, after)
            code = run_command(command.words)
            signal.setitimer(signal.ITIMER_REAL, 0)
            (self.root / "events").write_text("\n".join(events.names))
            return code

        return run(work, seconds=SECONDS, memory=None)


def _write_checkpoints_at_once() -> None:
    """Fits and encodings of seconds keep no rounds; here they keep every one."""
    import unhub.api.checkpoint
    import unhub.encoders.parts

    for module in (unhub.api.checkpoint, unhub.encoders.parts):
        if hasattr(module, "EVERY"):
            module.EVERY = 0.0


def _attack_one(name: str, command: Command, budget: Budget, ledger: Ledger) -> None:
    rng = random.Random(f"{budget.seed} {name}")
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        place.folder.mkdir()
        place.home.mkdir()
        _prepare(place, command)
        before = contents(place.folder)
        place.folder.rename(place.root / "before")
        after, events, seconds = _unharmed(place, command)
        case = Case(name, command, place, before, after, ledger)
        most = budget.scale * (HEAVY_POINTS if command.heavy else POINTS)
        for point in sorted(rng.sample(range(1, len(events) + 1), min(most, len(events)))):
            case.killed(f"before {point} of {len(events)}, {events[point - 1]}", [{"kill_at": point}])
        for _ in range(budget.scale // 10):
            moment = rng.random() * seconds
            case.killed(f"after {1000 * moment:.0f} ms", [{"after": max(0.001, moment)}])
            pair = [{"kill_at": rng.randint(1, len(events))} for _ in range(2)]
            case.killed(f"twice, before {pair[0]['kill_at']} and {pair[1]['kill_at']}", pair)


def _prepare(place: Place, command: Command) -> None:
    def work() -> int:
        from cli.conftest import write_problem

        enter(place.folder, place.home)
        write_problem(place.folder)
        for words in command.before:
            if run_command(words) != 0:
                raise AssertionError(words)
        command.files(place.folder)
        return 0

    ended = run(work, seconds=SECONDS, memory=None)
    if ended.code != 0:
        raise AssertionError(f"could not prepare {command.words}: {ended.err}")


def _unharmed(place: Place, command: Command) -> tuple[Files, list[str], float]:
    """What the command leaves if nobody kills it, its events, and how long it takes."""
    with place.fresh() as folder:
        began = time.monotonic()
        ended = place.once(command)
        if ended.code not in command.ends:
            raise AssertionError(f"{command.words} failed: {ended.err}")
        return contents(folder), (place.root / "events").read_text().splitlines(), time.monotonic() - began


def contents(folder: Path) -> Files:
    """Every file below a folder, and every folder that is empty, by its path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file():
            found[name] = _SECONDS.sub(rb"\1", path.read_bytes())
        elif path.is_dir() and not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found


@dataclass
class Case:
    """One command, what was there before, and what it leaves if nobody kills it."""

    name: str
    command: Command
    place: Place
    before: Files
    after: Files
    ledger: Ledger

    @cached_property
    def unsteady(self) -> set[str]:
        """Files that differ between two runs that nobody kills, such as one that holds the time."""
        folder, aside = self.place.folder, self.place.root / "aside"
        if folder.exists():
            folder.rename(aside)
        again, _, _ = _unharmed(self.place, self.command)
        if aside.exists():
            aside.rename(folder)
        return {each for each in self.after if self.after[each] != again.get(each)}

    def killed(self, how: str, kills: list[dict[str, float]]) -> None:
        """Kills the command, once or more, runs it again, and counts what came of it."""
        case = f"{self.name} killed {how}"
        with self.place.fresh() as folder:
            for each in kills:
                ended = self.place.once(self.command, **each)  # type: ignore[arg-type]
                self.ledger.note_code(ended)
            damaged = self._damage(contents(folder))
            if damaged:
                self.ledger.note("damage", case, damaged)
                return
            again = self.place.once(self.command)
            found = contents(folder)
        left = sorted(set(found) - set(self.after))
        lost = sorted(set(self.after) - set(found))
        other = [each for each in self.after if each in found and not self._same(each, found[each], self.after)]
        if again.hung or again.code is None or "Traceback" in again.err or again.code not in (*self.command.ends, 2):
            self.ledger.note("bug", case, f"the next run: exit {again.code}; {again.err}")
        elif again.code == 2 and (lost or other):
            self.ledger.note("different", case, f"the next run refuses: {again.err}")
        elif lost or other:
            self.ledger.note("different", case, f"after the next run missing {lost}, different {other}")
        elif left:
            self.ledger.note("leftover", case, f"after the next run there is still {left}")
        else:
            self.ledger.note("resumed", case)

    def _damage(self, found: Files) -> str:
        for name, data in self.before.items():
            if name not in found:
                if name in self.after and not name.endswith("/"):
                    return f"{name} is gone"
            elif not self._same(name, found[name], self.before) and not self._same(name, found[name], self.after):
                return f"{name} is neither what it was nor what it becomes ({len(found[name])} bytes, was {len(data)})"
        return ""

    def _same(self, name: str, data: bytes, files: Files) -> bool:
        return name in files and (data == files[name] or (whole(name, data) and name in self.unsteady))


def whole(name: str, data: bytes) -> bool:
    """Whether a file that holds a time or a random name is complete."""
    if name.endswith(".json"):
        try:
            json.loads(data)
        except ValueError:
            return False
        return True
    ends = {".html": b"</html>", ".pdf": b"%%EOF", ".parquet": b"PAR1", ".svg": b"</svg>"}
    return data.rstrip().endswith(ends.get(Path(name).suffix, b"")) and bool(data)
