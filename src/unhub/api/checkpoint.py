"""Checkpoints of a long fit: the last finished round is in a file until the fit is done, so it can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unhub.core.fingerprint import fingerprint, row_digests
from unhub.dataset import Task
from unhub.foundation.atomic import DISK_ERRORS
from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import open_regular
from unhub.foundation.types import FloatArray, Progress
from unhub.foundation.wording import argument, setting
from unhub.io import replace_file, write_safetensors
from unhub.methods import Method, settings

EVERY = 1.0
"""seconds between two writes, and before the first: a shorter fit needs no file"""

FREE = ("iterations", "tol", "strength")
"""settings that may differ between an interrupted run and the one that resumes it"""


@dataclass
class Rounds:
    """Follows the rounds of one fit: reports progress, and writes the last finished one to ``path`` if there is one."""

    work: str
    rows: int = 0
    rounds: int = 0
    progress: Progress | None = None
    path: Path | None = None
    resume: bool = False
    keep: bool = False
    identity: str = ""
    notes: tuple[str, ...] = ()
    """what the result should note: that its checkpoint could not be written"""
    remarks: tuple[str, ...] = ()
    """where this run began: shown, but not saved with the result, which is the same"""
    _read: int = 0
    _finished: int = 0
    _state: Callable[[], dict[str, FloatArray]] | None = field(default=None, repr=False)
    clock: Callable[[], float] = time.monotonic
    _written: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        self._written = self.clock()

    def advance(self, rows: int) -> None:
        """So many more bank rows were read."""
        if self.progress is None:
            return
        self._read = min(self._read + rows, self.rows * self.rounds)
        this = min(self._finished + 1, self.rounds)
        self.progress(f"{self.work}, round {this} of {self.rounds}", self._read, self.rows * self.rounds)

    def load(self) -> dict[str, FloatArray] | None:
        """The last finished round of an earlier run, or None; a file that could be resumed is never overwritten."""
        if self.path is None:
            return None
        if not self.path.exists():
            if self.resume:
                self._remark(f"there is no {self.path} to go on from, so the fit starts with its first round.")
            return None
        known, state = _contents(self.path)
        done = int(state["rounds"][0])
        if not self.resume:
            if known == self.identity:
                raise InputError(
                    f"{self.path} holds {done:,} finished rounds of this very fit; go on from there with "
                    f"{setting('resume', True)}, or remove the file to begin again."
                )
            self._remark(f"{self.path} holds {done:,} finished rounds of another fit, and will be replaced.")
            return None
        if known != self.identity:
            raise InputError(
                f"{self.path} is of another fit (other vectors, another method or other settings); remove it, or fit "
                f"without {argument('resume')}."
            )
        if done > self.rounds:
            raise InputError(
                f"{self.path} holds {done:,} finished rounds but only {self.rounds:,} are wanted; ask for at least as "
                f"many iterations, or remove the file."
            )
        self._finished = done
        self._read = self._finished * self.rows
        return state

    def save(self, state: Callable[[], dict[str, FloatArray]], rounds: int) -> None:
        """A round is finished; it is written unless the last write was a moment ago."""
        self._finished, self._state = rounds, state
        self._read = rounds * self.rows
        if self.clock() - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Writes the last finished round, complete or not at all; a failed write does not end the fit."""
        if self.path is None or self._state is None:
            return
        parts = self._state() | {"rounds": np.array([self._finished], dtype=np.int64)}
        whole = {name: np.ascontiguousarray(part) for name, part in parts.items()}
        self._written = self.clock()
        try:
            with replace_file(self.path) as file:
                write_safetensors(file, whole, {"identity": self.identity, "checksum": _checksum(whole)})
        except (InputError, OSError) as error:
            self._note(f"the checkpoint could not be written, and the fit goes on without it: {_sentence(error)}")
        else:
            self._state = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Around the fit: an interruption leaves the file behind; success removes it, unless it is to stay."""
        try:
            yield
        except BaseException:
            self._write_if_long()
            raise
        if self.keep:
            self._write_if_long()
        elif self.path is not None:
            self._remove(self.path)

    def _write_if_long(self) -> None:
        """Writes the last finished round of a fit long enough for a file."""
        if self.clock() - self._written >= EVERY or (self.path is not None and os.path.exists(self.path)):
            self.write()

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self._note(f"the checkpoint {path} is no longer needed but could not be removed: {_sentence(error)}")

    def _remark(self, sentence: str) -> None:
        self.remarks = (*self.remarks, sentence)

    def _note(self, sentence: str) -> None:
        self.notes = tuple(dict.fromkeys((*self.notes, sentence)))


def identity(method: Method, task: Task, *how: Any) -> str:
    """A fingerprint of a fit: the method, its settings, how vectors are read, and all vectors and weights."""
    chosen = {name: value for name, value in settings(method).items() if name not in FREE}
    whole = hashlib.sha256(json.dumps([method.name, chosen, how], sort_keys=True).encode())
    for rows in (task.targets, task.query_bank, task.target_bank, *task.matrices):
        whole.update(b"-" if rows is None or 0 in rows.shape else fingerprint(row_digests(rows)).encode())
    for marginal in (task.banks.query_weight, task.banks.target_prior):
        whole.update(b"-" if marginal is None else marginal.tobytes())
    return whole.hexdigest()[:32]


def checked_path(path: str | os.PathLike[str] | None, *, resume: bool, keep: bool) -> Path | None:
    """The checkpoint's path, checked; resuming, or leaving the file there, needs one."""
    if path is None:
        for name, wanted in (("resume", resume), ("keep_checkpoint", keep)):
            if wanted:
                raise InputError(name, f"needs {setting('checkpoint', '...')}", "name the checkpoint's file")
        return None
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError("checkpoint", f"is {path!r}", "give the name of a file")
    place = Path(path).expanduser()
    if place.is_dir():
        raise InputError("checkpoint", f"is {place}, a folder", "give the name of a file")
    if not place.parent.is_dir():
        raise InputError("checkpoint", f"is in {place.parent}, and there is no such folder", "make it first")
    if place.exists():
        open_regular(place, name="checkpoint").close()  # a pipe would be waited for
        _contents(place)
    return place


def _contents(path: Path) -> tuple[str, dict[str, FloatArray]]:
    """The identity and the arrays of a checkpoint; any other file is refused and left alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dictionary
    except OSError as error:
        raise InputError(f"{argument('checkpoint')}: {path} cannot be read: {_sentence(error)}") from error
    except SafetensorError:
        metadata, state = {}, {}
    known = metadata.get("identity")
    if known is None or metadata.get("checksum") != _checksum(state):
        raise InputError(
            f"{argument('checkpoint')}: {path} is not an interrupted fit, or is damaged; give another name, or "
            "remove it."
        )
    return known, state


def _checksum(state: dict[str, FloatArray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(state):
        whole.update(name.encode() + np.ascontiguousarray(state[name]).tobytes())
    return whole.hexdigest()


def _sentence(error: InputError | OSError) -> str:
    if isinstance(error, InputError):
        return str(error)
    reason = DISK_ERRORS.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return f"{reason}."
