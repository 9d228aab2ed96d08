"""What a bank of 100 or 20 example queries is worth, on real sets: R@1 without a correction and with it.

    python benchmarks/no_logs.py [../shared/data] [--seeds 20]

Example queries are drawn at random from queries that are asked of other items than the test set's, as a person would
type them who knows what people ask. The gallery as its own bank, at strength 1, is the row beside them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import unhub
from unhub.demo import emoji

SIZES = (100, 20)
HARM = 0.5
"""points of R@1 whose loss counts as harm"""


def unit(rows: np.ndarray) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sets(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Name, test queries, targets, right target of each, and queries to draw examples from."""
    for name in ("dual", "ridge_t2i"):
        z = np.load(data / "flickr8k" / f"flickr8k_{name}.npz")
        right = next(z[key] for key in z.files if z[key].ndim == 1 and len(z[key]) == len(z["test_text"]))
        yield f"Flickr8k, {name}", z["test_text"], z["test_image"], right, z["train_text"]
    z = np.load(data / "multi30k_cs_en" / "cs-en.npz")
    yield "Multi30k, Czech to English", z["test_q"], z["test_t"], np.arange(len(z["test_q"])), z["bank_q"]
    z = np.load(data / "openclipart" / "openclipart_mapped.npz")
    yield "OpenClipart", z["test_text"], z["test_image"], np.arange(len(z["test_text"])), z["train_text"]
    for code in ("de", "ja", "fi"):
        loaded = emoji.load(code)
        yield (
            f"Emoji, {emoji.LANGUAGES[code]}",
            loaded.test.queries,
            loaded.test.targets,
            loaded.test.relevant,
            loaded.bank.queries,
        )


def hits(scores: np.ndarray, right: np.ndarray) -> float:
    return 100 * float((scores.argmax(axis=1) == right).mean())


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    options.add_argument("--seeds", type=int, default=20)
    chosen = options.parse_args()
    warnings.simplefilter("ignore", unhub.UnhubWarning)
    print("| set | none | 100 examples | harmed | 20 examples | harmed | the gallery itself, strength 1 |")
    print("|---|---|---|---|---|---|---|")
    for name, queries, targets, right, others in sets(chosen.data):
        queries, targets, others = unit(queries), unit(targets), unit(others)
        scores = queries @ targets.T
        none = hits(scores, right)
        cells = [f"{none:.1f}"]
        for size in SIZES:
            gains = []
            for seed in range(chosen.seeds):
                bank = others[np.random.default_rng(seed).choice(len(others), size, replace=False)]
                correction = unhub.fit("sn", targets=targets, query_bank=bank)
                gains.append(hits(scores + correction.served_bias, right) - none)
            cells += [
                f"{np.mean(gains):+.1f} (worst {min(gains):+.1f})",
                f"{sum(each < -HARM for each in gains)} of {len(gains)}",
            ]
        own = unhub.fit("sn", targets=targets, query_bank=targets, strength=1)
        cells.append(f"{hits(scores + own.served_bias, right) - none:+.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
