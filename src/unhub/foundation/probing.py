"""Reading a file of unknown origin in a child process first, with limits on time and memory.

Some readers are C libraries that crash, loop or fill the memory on a damaged file, and not even Ctrl-C helps then. A
child reads the file first: the outcome is an answer, or an error of one sentence.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from unhub.foundation import probe_child
from unhub.foundation.errors import UnhubError
from unhub.foundation.regular_files import Stamp, stamp_at

BASE_MEMORY = 1 << 30  # bytes of address space for Python and the reader's libraries, before the file
SECONDS = 20.0  # processor time for an empty file
BYTES_PER_SECOND = 20_000_000  # larger files get more time: what a slow disk still delivers
WAITING = 5  # times the processor time that a child may take by the clock: disks are slow, machines are busy

NO_CHILD = (
    "HDF5, MATLAB 7.3 and faiss files are read by a child process first, and there is no Python to start one here (a "
    "frozen application?); give .npy or .safetensors, or run unhub in an ordinary Python."
)

_CACHED_FILES = 256
_ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "HDF5_PLUGIN_PRELOAD": "::",  # HDF5 loads no filters from the disk
}


class ProbeError(ValueError):
    """The child gave no answer: it crashed, took too long or needed too much memory."""


def probe(script: Path, request: Mapping[str, Any], *, size: int, memory: int = 0) -> Any:
    """What the function ``probe`` of a script returns, called with the request in a child process.

    script: a Python file that defines ``probe(**request)``; it is run by itself, and its answer must be plain data.
    size: bytes of the file that is read; time grows with it.
    memory: bytes that the reading itself may take.

    An exception in the child is a ``ValueError`` with its words here (a MemoryError stays one); a child without an
    answer is a ``ProbeError``. Where the system has no limits on memory (Windows, macOS), only time is limited.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise UnhubError(NO_CHILD)
    seconds = SECONDS + size / BYTES_PER_SECOND
    order = {
        "script": str(script),
        "request": dict(request),
        "memory": BASE_MEMORY + memory,
        "seconds": seconds,
        "path": [each for each in sys.path if os.path.isabs(each)],
    }
    written = _run([sys.executable, "-I", probe_child.__file__, json.dumps(order)], seconds)
    try:
        answer: dict[str, Any] = json.loads(written)
    except ValueError:
        raise ProbeError("the reader ended without an answer") from None
    if "problem" in answer:
        raise MemoryError if answer["kind"] == "MemoryError" else ValueError(answer["problem"])
    return answer["value"]


def _run(command: list[str], seconds: float) -> bytes:
    """What the child wrote; it is killed whenever the waiting ends, by Ctrl-C too."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ENVIRONMENT},
        start_new_session=True,
    )
    try:
        written, _ = child.communicate(timeout=seconds * WAITING)
    except subprocess.TimeoutExpired:
        raise ProbeError(f"reading it did not end within {seconds * WAITING:.0f} s") from None
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    code = child.returncode
    if code == -getattr(signal, "SIGXCPU", 0) and code:
        raise ProbeError(f"reading it did not end within {seconds:.0f} s of processor time")
    if code < 0:
        raise ProbeError(f"the reader crashed: {signal.Signals(-code).name}")
    if code:
        raise ProbeError(f"the reader ended with code {code}")
    return written


class AnswerCache:
    """Answers about files that this process has read, until the file changes; the oldest are dropped."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, Stamp, str], Any] = OrderedDict()
        self._lock = Lock()

    def answer(self, path: Path, question: str, ask: Callable[[], Any]) -> Any:
        """The answer to a question about a file; ``ask`` is called only if the file is new or has changed."""
        before = stamp_at(path)
        key = (str(path), before, question)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = ask()
        if stamp_at(path) != before:
            raise ProbeError("it was changed while it was read")
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > _CACHED_FILES:
                self._answers.popitem(last=False)
        return answer
