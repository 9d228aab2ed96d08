"""A small problem in files, and two ways to run a command on it: here, which is fast, and as a user does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.cli import main

TARGETS, QUERIES, BANK, RECENT, DIM = 40, 40, 300, 120, 16


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]

DECORATION = re.compile(r"[\x1b─-╿▀-▟⠀-⣿]")
"""escape sequences, boxes, blocks and spinners, none of which belong in a pipe"""


def plain(text: str) -> bool:
    return DECORATION.search(text) is None


def unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def write_problem(folder: Path) -> None:
    """Embeddings with two hubs, a bank, scores, ids and answers: the files that the help texts speak of.

    Beside the bank, recent queries of the same kind with their answers, and queries of another kind.
    """
    rng = np.random.default_rng(7)
    raw, common = rng.normal(size=(TARGETS, DIM)), rng.normal(size=DIM)
    raw[:2] *= 0.2
    raw += rng.gamma(1.0, 0.6, size=(TARGETS, 1)) * common

    def asked(rows: Any) -> Any:
        """Queries for these targets: they have more in common than the targets have."""
        return unit(raw[rows] + common + rng.normal(size=(len(rows), DIM)))

    targets, queries, bank = unit(raw), asked(np.arange(TARGETS)), asked(rng.integers(0, TARGETS, BANK))
    others = unit(rng.normal(size=(30, DIM)) + 0.5)
    answers = rng.integers(0, TARGETS, RECENT)
    elsewhere = unit(rng.normal(size=(BANK, DIM)) - 3 * common)
    arrays = {
        "targets": targets,
        "queries": queries,
        "bank": bank,
        "other_targets": others,
        "recent": asked(answers),
        "log": bank,
        "elsewhere": elsewhere,
        "new_targets": unit(rng.normal(size=(6, DIM)) + 0.5),
        "scores": queries @ targets.T,
        "bank_scores": bank @ targets.T,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "relevant.tsv").write_text("".join(f"{row}\t{row}\n" for row in range(QUERIES)))
    (folder / "judged.tsv").write_text("".join(f"{row}\t{target}\n" for row, target in enumerate(answers)))
    (folder / "ids.txt").write_text("".join(f"item-{row}\n" for row in range(TARGETS)))
    write_index(folder / "photos.faiss", targets)
    (folder / "experiment.toml").write_text(
        '[dataset]\nname = "Small"\nmodel = "made"\n[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\n'
        '[banks.val]\nqueries = "bank.npy"\ntargets = "other_targets.npy"\n[settings]\ntau = 0.1\n'
    )


def write_index(path: Path, targets: Any) -> None:
    """A flat faiss index of the targets, whose ids begin at 100."""
    import faiss

    index = faiss.index_factory(DIM, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
    index.add_with_ids(targets, np.arange(len(targets)) + 100)
    faiss.write_index(index, str(path))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files, which is also where commands run."""
    write_problem(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def call(*words: str) -> Ended:
        capsys.readouterr()
        code = main(words)
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return call


def script() -> list[str]:
    """The command, run by this Python."""
    return [sys.executable, "-m", "unhub"]


def environment(**extra: str) -> dict[str, str]:
    """The environment of a command: one thread, so that a busy machine stays usable."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "100", **extra}


@pytest.fixture
def shell(folder: Path) -> Run:
    """Runs a command as a user does, in a process of its own."""

    def call(*words: str, **extra: str) -> Ended:
        done = subprocess.run(
            [*script(), *words], cwd=folder, env=environment(**extra), capture_output=True, encoding="utf-8", timeout=60
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call
