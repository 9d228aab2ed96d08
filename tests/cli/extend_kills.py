"""``unhub extend`` of a correction in place, and from its store, killed at its changes to the disk, and run again.

extend_kills(tmp_path), follow_kills(tmp_path)  # every kill point; points=7 for a quick look
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
from encode.kills import Killer, survive

import unhub
import unhub.stores

from .conftest import write_index, write_problem

FIT = split("fit --targets targets.npy --query-bank bank.npy --target-ids ids.txt -o c.unhub")
IN_PLACE = split("extend c.unhub --targets new_targets.npy -o c.unhub")


def gallery(folder: Path) -> tuple[tuple[str, ...] | None, list[int], list[float]]:
    """Ids, digests and biases of the correction: what a longer one is."""
    found = unhub.load(folder / "c.unhub")
    return found.ids, found._digests.tolist(), found.bias.tolist()


def extend_kills(scratch: Path, *, points: int | None = None) -> Counter[str]:
    """How many targets the correction had between a kill and the same command again, which must append them once."""
    start = scratch / "start"
    start.mkdir()
    write_problem(start)
    with Killer("import unhub.cli.extend") as killer:
        assert killer.run(FIT, start)[0] == 0
        return survive(killer, IN_PLACE, start, scratch, look=_size, points=points, result=gallery)


def follow_kills(scratch: Path, *, points: int | None = None) -> Counter[str]:
    """The same of a correction that was fitted from a faiss file and exported beside it, whose items have changed."""
    start, here = scratch / "start", scratch / "killed"  # every attempt runs here: a correction notes whole addresses
    here.mkdir()
    write_problem(here)
    address = f"faiss://{here}/photos.faiss"
    targets, new = np.load(here / "targets.npy"), np.load(here / "new_targets.npy")
    with Killer("import faiss, unhub.cli.extend, unhub.deploy.refresh") as killer:
        for words in (
            ["fit", "--targets", address, "--query-bank", "bank.npy", "-o", "c.unhub"],
            ["export", "c.unhub", "--to", address],
        ):
            code, said = killer.run(words, here)
            assert code == 0, said
        write_index(here / "photos.faiss", np.concatenate((targets[1:], new)))
        shutil.move(here, start)
        words = ["extend", "c.unhub", "--from-store", "--store", address]
        return survive(killer, words, start, scratch, look=_size, points=points, result=_exported)


def _size(folder: Path) -> str:
    return str(unhub.load(folder / "c.unhub").bias.size)


def _exported(folder: Path) -> Any:
    """The correction, what was exported of it, and whether that is still noted as unfinished."""
    (export,) = unhub.load(folder / "c.unhub").exports
    place = unhub.stores.open_store(f"faiss://{folder}/{export.destination}")
    rows = [(each, row.tolist()) for block in place.scan() for each, row in zip(block.ids, block.vectors, strict=True)]
    return gallery(folder), export.state, sorted(rows), (folder / "c.unhub.exporting").exists()
