"""``unhub encode`` over the files of an older run, killed at its changes to the disk, and run again.

with encode_killer(model) as killer:
    encode_kills(killer, tmp_path, model, other_model)  # every kill point; points=10 for a quick look
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from unhub.foundation.errors import InputError
from unhub.io import open_rows

from .kills import Killer, survive

TEXTS = ["a red dog runs", "the cat sleeps in the house", "piano", "a small green garden", "a cat"]
SETUP = """
import torch
from unhub.encoders import load_encoder, parts
torch.set_num_threads(1)
parts.EVERY = 0
load_encoder({model!r}, "text", device="cpu")
"""


def encode_killer(model: Path) -> Killer:
    """A process that has a model's library at hand and writes every batch as soon as it is finished."""
    return Killer(SETUP.format(model=str(model)))


def encode_words(source: Path | str, model: Path) -> list[str]:
    return ["encode", str(source), "--model", str(model), "-o", "x.npy", "--device", "cpu", "--batch", "2"]


def encode_kills(
    killer: Killer, scratch: Path, model: Path, other_model: Path | None, *, points: int | None = None
) -> Counter[str]:
    """What readers met between a kill and the same command again, which must give what an undisturbed run gives.

    The folder begins with vectors of the same texts by ``other_model`` under other ids, or empty if it is None.
    """
    start = scratch / "start"
    start.mkdir()
    if other_model is not None:
        code, said = killer.run(encode_words(_table(scratch / "older.csv", "old"), other_model), start)
        assert code == 0, said
    newer = _table(scratch / "newer.csv", "new")
    before = np.load(start / "x.npy") if other_model is not None else None
    return survive(
        killer, encode_words(newer, model), start, scratch, look=lambda folder: _met(folder, before), points=points
    )


def _table(path: Path, prefix: str) -> Path:
    path.write_text("id,text\n" + "".join(f"{prefix}{row},{text}\n" for row, text in enumerate(TEXTS)))
    return path


def _met(folder: Path, before: np.ndarray | None) -> str:
    """Which pair a reader gets: "old", "new", "nothing", "refused" in the words of an unfinished one, or what else."""
    unfinished = (
        f"targets: {folder / 'x.npy'} and its ids are being replaced by unhub encode; if that is no longer running, "
        f"run the same encode command again."
    )
    try:
        found = open_rows(folder / "x.npy", name="targets")
    except InputError as error:
        if not (folder / "x.npy").exists():
            return "nothing"
        return "refused" if str(error) == unfinished else str(error)
    whose = "old" if before is not None and np.array_equal(found[:], before) else "new"
    return whose if found.ids == tuple(f"{whose}{row}" for row in range(len(TEXTS))) else f"mixed: {found.ids}"
