"""The tables of docs/choose.md: real banks at the strength that the guard gives, and at strength 1.

    python benchmarks/choosing.py --data ../shared/data
    python benchmarks/choosing.py --data ../shared/data --only msrvtt

Everything is at the defaults (tau = "auto"). Recent queries are the set's own dev or val queries; where it has none,
200 are split off its bank. MSR-VTT has no bank: one half of it is the bank of the other, over eight draws of the
halves, and its recent queries are 200 of the bank's half ("bank"), or of the test's half ("test"), which are then not
tested.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import unhub
from unhub.demo import emoji

METHODS = ("none", "is", "sn", "dbsn")
RECENT = 200
DRAWS = 8
Parts = Mapping[str, Any]
"""keywords of a Dataset"""


def multi30k(data: Path) -> Iterator[Parts]:
    """Czech queries, English captions; validation queries are the recent ones."""
    x = np.load(data / "multi30k_cs_en/cs-en.npz")
    yield {
        "queries": x["test_q"], "targets": x["test_t"], "relevant": np.arange(len(x["test_q"])), "recent": x["val_q"],
        "query_bank": x["bank_q"], "target_bank": x["bank_t"],
    }  # fmt: skip


def flickr8k(data: Path, model: str) -> Iterator[Parts]:
    """Captions of pictures; dev captions are the recent queries."""
    x = np.load(data / f"flickr8k/flickr8k_{model}.npz")
    yield {
        "queries": x["test_text"], "targets": x["test_image"], "relevant": x["test_text_target"],
        "recent": x["dev_text"], "query_bank": x["train_text"], "target_bank": x["train_image"],
    }  # fmt: skip


def openclipart(data: Path) -> Iterator[Parts]:
    """Titles of drawings; the last of the bank's texts are the recent queries."""
    x = np.load(data / "openclipart/openclipart_mapped.npz")
    bank, targets = x["train_text"], x["train_image"]
    yield {
        "queries": x["test_text"], "targets": x["test_image"], "relevant": np.arange(len(x["test_text"])),
        "recent": bank[-RECENT:], "query_bank": bank[:-RECENT], "target_bank": targets[:-RECENT],
    }  # fmt: skip


def names(data: Path, language: str) -> Iterator[Parts]:
    """Names of emoji, as in ``unhub demo``."""
    its = emoji.load(language)
    yield {
        "queries": its.test.queries, "targets": its.test.targets, "relevant": its.test.relevant, "recent": its.recent,
        "query_bank": its.past.queries, "target_bank": its.past.targets,
    }  # fmt: skip


def halves(data: Path, recent_of: str) -> Iterator[Parts]:
    """One half of MSR-VTT as the bank of the other, each half tested once in every draw."""
    s = np.load(data / "msrvtt_1ka/msrvtt_video_matrix.npy")
    for seed in range(DRAWS):
        order = np.random.default_rng(seed).permutation(len(s))
        first, second = np.array_split(order, 2)
        for test, bank in ((first, second), (second, first)):
            if recent_of == "bank":
                recent, rest, asked = bank[:RECENT], bank[RECENT:], test
            else:
                recent, rest, asked = test[:RECENT], bank, test[RECENT:]
            yield {
                "scores": s[np.ix_(asked, test)], "relevant": np.flatnonzero(np.isin(test, asked)),
                "recent": s[np.ix_(recent, test)], "query_bank_scores": s[np.ix_(rest, test)],
                "cross_bank_scores": s[np.ix_(rest, rest)],
            }  # fmt: skip


SETS: Mapping[str, tuple[str, Callable[..., Iterator[Parts]], tuple[str, ...]]] = {
    "multi30k": ("Multi30k, Czech to English", multi30k, ()),
    "flickr8k-ridge": ("Flickr8k, ridge map", flickr8k, ("ridge_t2i",)),
    "flickr8k-dual": ("Flickr8k, dual encoder", flickr8k, ("dual",)),
    "openclipart": ("OpenClipart, one split", openclipart, ()),
    "emoji-de": ("emoji names, German", names, ("de",)),
    "emoji-ja": ("emoji names, Japanese", names, ("ja",)),
    "msrvtt": ("MSR-VTT, other half as bank", halves, ("test",)),
    "msrvtt-bank": ("MSR-VTT, recent queries of the bank's half", halves, ("bank",)),
}


def measure(name: str, data: Path) -> dict[str, list[float]]:
    """Mean R@1 of ``METHODS`` ("auto", "strength 1"), of transductive SN, and the mean strengths given."""
    _, load, arguments = SETS[name]
    rows: dict[str, list[Sequence[float]]] = {"auto": [], "strength 1": [], "transductive": [], "strengths": []}
    for parts in load(data, *arguments):
        dataset = unhub.Dataset(**parts, normalize="queries" in parts, allow_overlap=True)
        how: Any = {"metrics": ["R@1"], "resamples": 1}
        auto = unhub.evaluate(dataset, methods=METHODS, **how)
        full = unhub.evaluate(dataset, methods=METHODS, strength=1, **how)
        own = unhub.evaluate(dataset, bank="test queries", methods=["sn"], **how)
        rows["auto"].append([auto[each]["R@1"] for each in METHODS])
        rows["strength 1"].append([full[each]["R@1"] for each in METHODS])
        rows["transductive"].append([own["sn"]["R@1"]])
        rows["strengths"].append([auto[each].settings.get("strength", 1.0) for each in METHODS[1:]])
    return {kind: np.mean(values, axis=0).tolist() for kind, values in rows.items()}


def line(title: str, found: Mapping[str, Sequence[float]]) -> str:
    """A row in Markdown: none, is, sn and dbsn with auto strength, the strengths, strength 1, transductive SN."""
    auto, full = ([f"{value:.1f}" for value in found[kind]] for kind in ("auto", "strength 1"))
    strengths = " / ".join(f"{value:.2f}" for value in found["strengths"])
    return f"| {title} | {' | '.join(auto)} | {strengths} | {' / '.join(full[1:])} | {found['transductive'][0]:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder that holds the sets")
    parser.add_argument("--only", choices=SETS, help="one of the sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in [options.only] if options.only else SETS:
        print(line(SETS[name][0], measure(name, options.data)), flush=True)


if __name__ == "__main__":
    main()
