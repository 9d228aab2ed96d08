"""Kills a command just before each of its changes to a folder: what every kill leaves behind can then be looked at.

``Killer`` starts one process that imports and warms everything up, and forks from it for each run, so that a kill costs
what the command costs and not what its imports cost. The fork counts the audit events of Python that change a folder
(open to write, rename, remove, mkdir, ...) and ends itself with SIGKILL before the one that was asked for. What lies
between two events is in temporary files that nobody reads, so these are all the states that a kill can leave.

    with Killer() as killer:
        survive(killer, ["encode", ...], start, tmp_path, look=look, points=12)  # the quick run
        survive(killer, ["encode", ...], start, tmp_path, look=look)             # the long run: every point
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.link", "os.symlink")
WARM = "import rich.table, safetensors.numpy, unhub.api.artefact, unhub.cli, unhub.core.compiled"
"""what most commands import, once for all forks"""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Killer:
    """A warm process that runs ``unhub`` commands in forks of itself, to their end or to a kill.

    setup: Python that the process executes first, to import what else the commands need and to set what they depend on.
    """

    def __init__(self, setup: str = "") -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        quiet = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, setup], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **threads, **quiet},
        )  # fmt: skip

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def run(self, words: list[Any], folder: Path) -> tuple[int, str]:
        """The exit code of an undisturbed run in the folder, and what it said."""
        told = self._ask(words, folder, None)
        return told["code"], told["said"]

    def events(self, words: list[Any], folder: Path) -> list[str]:
        """What an undisturbed run changes in the folder, in order, such as "os.rename x.npy"."""
        told = self._ask(words, folder, None)
        assert told["code"] == 0, told["said"]
        return list(told["events"])

    def kill(self, words: list[Any], folder: Path, at: int) -> None:
        """A run that dies just before its change number ``at``, counted from 0."""
        told = self._ask(words, folder, at)
        assert told["code"] == -signal.SIGKILL, f"the run was not killed at {at}: {told}"

    def _ask(self, words: list[Any], folder: Path, at: int | None) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"words": [str(word) for word in words], "folder": str(folder), "at": at}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that forks has ended"
        told: dict[str, Any] = json.loads(line)
        return told


DRAFT = re.compile(r"\..+-[0-9a-f]{8,12}(\.\w+)?")
"""a temporary file of unhub, which a kill may leave and nobody reads"""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but drafts, with what is in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not DRAFT.fullmatch(path.name))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def survive(
    killer: Killer,
    words: list[Any],
    start: Path,
    scratch: Path,
    *,
    look: Callable[[Path], str],
    points: int | None = None,
    result: Callable[[Path], Any] = contents,
) -> Counter[str]:
    """Kills a command at ``points`` of its changes (None: at all) and runs it again: how often ``look`` said what.

    Each attempt begins with a copy of the folder ``start``. ``look`` sees the folder between the kill and the second
    run. The second run must end well, and its ``result`` must be that of a run that nobody disturbed.
    """
    folder = scratch / "killed"

    def begin() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)

    begin()
    events = killer.events(words, folder)
    expected, seen = result(folder), Counter[str]()
    for at in spread(len(events), len(events) if points is None else points):
        begin()
        killer.kill(words, folder, at)
        seen[look(folder)] += 1
        code, said = killer.run(words, folder)
        assert code == 0, f"killed before {events[at]}, the same command says: {said}"
        assert result(folder) == expected, f"killed before {events[at]}, the same command gives something else"
    return seen


def spread(count: int, wanted: int) -> list[int]:
    """``wanted`` of the numbers below ``count``, evenly spread, the first and the last among them."""
    return sorted({at * (count - 1) // (wanted - 1) for at in range(wanted)}) if wanted < count else list(range(count))


def _changed(event: str, arguments: tuple[Any, ...], folder: str) -> str | None:
    """What an audit event changes in the folder, or None."""
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & WRITING:
            return None
    elif event in CHANGES:
        path = arguments[1] if event == "os.rename" else arguments[0]
    else:
        return None
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    place = os.path.abspath(os.fsdecode(path))
    return f"{event} {os.path.relpath(place, folder)}" if place.startswith(folder + os.sep) else None


def _attempt(words: list[str], folder: str, at: int | None, said: int, noted: int) -> None:
    """The work of a fork: it never comes back."""
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(folder)
    events: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        changed = _changed(event, arguments, folder)
        if changed is None:
            return
        if len(events) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        events.append(changed)

    from unhub.cli import main

    sys.addaudithook(watch)
    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    at = None
    os.write(noted, json.dumps(events).encode())
    os._exit(code)


def _serve(setup: str) -> None:
    import gc
    import tempfile

    exec(f"{WARM}\n{setup}", {})
    from unhub.cli import main

    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        main(["rollback", os.devnull])  # refused; what parses command lines is at hand from now on
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as noted:
            child = os.fork()
            if child == 0:
                try:
                    folder = os.path.realpath(asked["folder"])
                    _attempt(asked["words"], folder, asked["at"], said.fileno(), noted.fileno())
                finally:
                    os._exit(99)
            _, status = os.waitpid(child, 0)
            texts = []
            for file in (said, noted):
                file.seek(0)
                texts.append(file.read().decode())
        told = {"code": os.waitstatus_to_exitcode(status), "said": texts[0], "events": json.loads(texts[1] or "[]")}
        sys.__stdout__.write(json.dumps(told) + "\n")
        sys.__stdout__.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
