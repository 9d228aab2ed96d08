"""A whole experiment, every table and every figure: how long each takes, and what sharing a bank's scores saves.

    python benchmarks/reproduction.py            # 5,000 captions of 1,000 images, a bank of 30,000 captions
    python benchmarks/reproduction.py --small    # a quick look

The set is made up: five captions for each image, hubs, a validation and a training bank with images of their own, and a
third bank of other words. Beside it, in the same process: each method of the bank table evaluated on its own, so that
nothing is shared between methods.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from measuring import peak_memory, product_seconds
from running import versions, write_json

from unhub.dataset import Dataset
from unhub.experiments import preset
from unhub.experiments.figures import FigureSettings, figure_data, possible_figures
from unhub.experiments.paper_tables import possible, result_table
from unhub.experiments.run import ONE_BANK, TWO_BANKS, Run
from unhub.reports import result_files
from unhub.reports.drawing import draw
from unhub.reports.figures import save

CAPTIONS = 5
DIM = 512
SPREAD = 40
"""independent directions that images differ in; real embeddings have about so many"""
DATASET = """
[dataset]
name = "made"
model = "made"
directions = ["t2i", "i2t"]
modality = "image"

[test]
queries = "test_text.npy"
targets = "test_image.npy"
relevant = "test_relevant.npy"
"""
BANK = """
[banks.{name}]
queries = "{name}_text.npy"
targets = "{name}_image.npy"
"""


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length one."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def write(folder: Path, sizes: dict[str, int]) -> Path:
    """The arrays of a made-up set, so many captions in each part, and the experiment file."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((SPREAD, DIM)) / np.sqrt(DIM)
    common = rng.standard_normal(DIM) / np.sqrt(DIM)
    for name, captions in sizes.items():
        count = max(1, captions // CAPTIONS)
        images = rng.standard_normal((count, SPREAD)) @ basis
        images += rng.gamma(1.0, 1.2, (count, 1)) * common  # some are near to what all captions share
        noise = 2.6 if name == "other" else 2.0
        texts = np.repeat(images, CAPTIONS, axis=0) + 2 * common
        texts = texts + noise * (rng.standard_normal((len(texts), SPREAD)) @ basis)
        np.save(folder / f"{name}_image.npy", unit(images))
        np.save(folder / f"{name}_text.npy", unit(texts))
    np.save(folder / "test_relevant.npy", np.repeat(np.arange(sizes["test"] // CAPTIONS), CAPTIONS))
    path = folder / "experiment.toml"
    path.write_text(DATASET + "".join(BANK.format(name=name) for name in sizes if name != "test"))
    return path


def everything(path: Path, folder: Path) -> dict[str, float]:
    """Seconds of each table with its files, and of each figure."""
    run = Run(Dataset.open(path), preset("paper"))
    seconds = {}
    for name, lacking in possible(run.data).items():
        if lacking is None:
            began = time.perf_counter()
            result_files.write(result_table(name, run), run.data, folder)
            seconds[f"table {name}"] = time.perf_counter() - began
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    settings = FigureSettings(run, folder=folder / "figures")
    for name, lacking in possible_figures(run.data).items():
        if lacking is None:
            began = time.perf_counter()
            for data in figure_data(name, settings):
                drawn = draw(data)
                if drawn is not None:
                    save(drawn, folder / "figures" / data.stem)
            seconds[f"figure {name}"] = time.perf_counter() - began
    return seconds


def banks_with_and_without_sharing(path: Path) -> tuple[float, float]:
    """Seconds of all methods of every bank together, and of each on its own."""

    def once(groups: list[tuple[str, ...]]) -> float:
        run = Run(Dataset.open(path), preset("paper"))
        began = time.perf_counter()
        for bank in run.data.banks:
            for way in run.data.directions_of(bank).values():
                for names in groups:
                    methods = run.methods(names, way, banked=True)
                    run.evaluate(methods, way, run.metrics, bank=bank)
        return time.perf_counter() - began

    names = ("none", *ONE_BANK, *TWO_BANKS)
    return once([names]), once([(name,) for name in names])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="200 captions of 40 images, to see that it runs")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/reproduction.json"))
    options = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "Agg")
    warnings.simplefilter("ignore")
    sizes = {"test": 200, "val": 150, "train": 400, "other": 100}
    if not options.small:
        sizes = {"test": 5000, "val": 5000, "train": 30_000, "other": 5000}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = write(folder, sizes)
        product = product_seconds(np.load(folder / "train_text.npy"), np.load(folder / "test_image.npy"))
        seconds = everything(path, folder / "results")
        shared, alone = banks_with_and_without_sharing(path)
    gallery = sizes["test"] // CAPTIONS
    banks = ", ".join(f"{count:,}" for name, count in sizes.items() if name != "test")
    print(f"{sizes['test']:,} x {gallery:,} x {DIM}, banks of {banks}\n")
    print(f"{'':28}{'seconds':>10}{'x one product of the largest bank':>36}")
    for name, took in [*seconds.items(), ("everything", sum(seconds.values()))]:
        print(f"{name:28}{took:10.1f}{took / product:36.1f}")
    print(f"\nbanks, each method on its own / all together: {alone / shared:.2f} ({alone:.1f} s, {shared:.1f} s)")
    print(f"largest memory: {peak_memory() / 1e9:.1f} GB")
    write_json(
        options.output,
        {
            "sizes": sizes,
            "versions": versions(),
            "product_seconds": product,
            "seconds": seconds,
            "alone_over_shared": alone / shared,
        },
    )


if __name__ == "__main__":
    main()
