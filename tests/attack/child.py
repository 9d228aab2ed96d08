"""A function in a child process with limits of time and memory, and how it ended.

The process that attacks only imports and forks. It never computes, so it has no threads that a fork would lose.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 30.0
"""how long a child may take before it counts as hung; the honest ones take less than one"""

MEMORY = 2 << 30
"""bytes that a child may map besides what was mapped before the fork"""


@dataclass(frozen=True)
class Ended:
    """How a child ended: an exit code or a signal, whether it was stopped for taking too long, what it wrote."""

    code: int | None
    signal: int | None
    hung: bool
    out: str
    err: str
    grown: int
    """bytes of memory in use at the peak, besides what was in use before the fork"""


def run(function: Callable[[], int | None], *, seconds: float = SECONDS, memory: int | None = MEMORY) -> Ended:
    """Runs the function in a fork; its return value is the exit code."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        process = os.fork()
        if process == 0:
            _become(function, out.fileno(), err.fileno(), seconds, memory)
        status, used, hung = _wait(process, seconds)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    killed = os.WIFSIGNALED(status)
    return Ended(
        code=None if killed else os.waitstatus_to_exitcode(status),
        signal=os.WTERMSIG(status) if killed else None,
        hung=hung,
        out=texts[0],
        err=texts[1],
        grown=max(0, used.ru_maxrss - before) * 1024,
    )


def _become(function: Callable[[], int | None], out: int, err: int, seconds: float, memory: int | None) -> None:
    code = 70
    try:
        os.setpgid(0, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(2 * seconds) + 1,) * 2)
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (_mapped() + memory,) * 2)
        code = function() or 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _mapped() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _wait(process: int, seconds: float) -> tuple[int, resource.struct_rusage, bool]:
    """Waits for the child, and ends it and what it has started once its time is over."""
    deadline, pause, hung = time.monotonic() + seconds, 0.001, False
    while True:
        ended, status, used = os.wait4(process, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline and not hung:
            hung = True
            os.killpg(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)
    return status, used, hung
