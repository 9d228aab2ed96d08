"""A small experiment in files, with hubs, texts that try to be markup, and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

TARGETS, QUERIES, BANK, OTHERS, DIM = 60, 90, 150, 40, 16
SCRIPT = "<script>document.title = 'taken'</script>"
TAU = 0.1


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def write_experiment(folder: Path, *, targets=TARGETS, queries=QUERIES, bank=BANK, dim=DIM, more="") -> Path:
    """The experiment file; query i asks for target i modulo the gallery."""
    rng = np.random.default_rng(11)
    raw, gap = rng.normal(size=(targets, dim)), rng.normal(size=dim)
    nearer = raw.copy()
    nearer[:3] = 0.8 * raw[:3] + gap  # where queries lie: hubs
    means = np.arange(queries) % targets
    arrays = {
        "targets": unit(nearer),
        "queries": unit(raw[means] + gap + 0.5 * rng.normal(size=(queries, dim))),
        "bank": unit(raw[rng.integers(0, targets, bank)] + gap + 0.5 * rng.normal(size=(bank, dim))),
        "others": unit(rng.normal(size=(OTHERS, dim)) + 0.4),
        "relevant": means,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "captions.txt").write_text("".join(f"{SCRIPT} {row}\n" for row in range(queries)), encoding="utf-8")
    (folder / "names.txt").write_text("".join(f"{SCRIPT} thing {row}\n" for row in range(targets)), encoding="utf-8")
    file = folder / "experiment.toml"
    file.write_text(
        '[dataset]\nname = "Small <b>"\nmodel = "made"\nmodality = "image"\ndirections = ["t2i", "i2t"]\n'
        '[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\nrelevant = "relevant.npy"\n'
        f'captions = "captions.txt"\ntarget_captions = "names.txt"\n{more}'
        f'[banks.val]\nqueries = "bank.npy"\ntargets = "others.npy"\n[settings]\ntau = {TAU}\n',
        encoding="utf-8",
    )
    return file


def write_pictures(folder: Path, targets=TARGETS, side=300) -> Path:
    """A picture for each target, called by its row, each different so that none is kept once for all."""
    rng = np.random.default_rng(5)
    media = folder / "media"
    media.mkdir()
    for row in range(targets):
        small = rng.integers(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(small).resize((side, side)).save(media / f"{row}.png")
    return media
