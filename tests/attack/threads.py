"""Every reader from 16 threads at once: each thread gets the rows that it asked for, and the process lives."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np

from attack import warm
from attack.child import run
from attack.formats import io_writers
from attack.ledger import Budget, Ledger

THREADS, READS = 16, 8


def attack(budget: Budget, only: str | None = None) -> Ledger:
    """Reads each kind of file from many threads, in a child for each attempt."""
    warm.imported(warm.READERS, ("torch",))
    ledger, writers = Ledger("threads"), io_writers()
    with tempfile.TemporaryDirectory() as root:
        for name, (file, part, write) in writers.WRITERS.items():
            if only not in (None, name):
                continue
            folder = Path(root) / name.replace(" ", "-")
            folder.mkdir()
            written = run(lambda write=write, path=folder / file: write(path), memory=None)
            if written.code != 0:
                raise AssertionError(written.err)
            address = f"{folder / file}{part}"
            for attempt in range(budget.scale):
                seed = budget.seed + attempt
                ended = run(lambda address=address, seed=seed: at_once(address, writers.MATRIX, seed), memory=None)
                ledger.note_code(ended)
                outcome = {0: "answered", 3: "different"}.get(-1 if ended.code is None else ended.code, "crash")
                ledger.note("hang" if ended.hung else outcome, f"{name}, seed {seed}", ended.err)
    return ledger


def at_once(address: str, expected: np.ndarray, seed: int) -> int:
    """0 if every thread read what is there, 3 if one read something else."""
    from unhub.io import open_rows

    rows = open_rows(address, name="targets")
    begin = Barrier(THREADS)

    def read(thread: int) -> bool:
        rng = np.random.default_rng((seed, thread))
        begin.wait()
        for _ in range(READS):
            first, last = sorted(rng.integers(0, len(expected) + 1, size=2))
            if not np.array_equal(rows[int(first) : int(last)], expected[first:last]):
                return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        return 0 if all(pool.map(read, range(THREADS))) else 3
