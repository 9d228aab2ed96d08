"""The banks of harm.py: what people may have, from a matched log to the gallery itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from harm_sets import Split, unit

LARGEST, LARGE = 2000, 512
"""bank queries at the most, and from which a matched bank is called large"""


@dataclass(frozen=True, eq=False)
class Bank:
    """queries: as in Split, or the scores of them. spam: more of what does not belong in the bank."""

    kind: str
    queries: np.ndarray
    spam: np.ndarray | None = None


def banks(split: Split, rng: np.random.Generator) -> Iterator[Bank]:
    """Every kind of bank that the set has queries for."""
    if split.log is not None:
        yield Bank("own log", split.log)
        return
    pool = rng.permutation(split.pool)
    if len(pool) >= LARGE:
        yield Bank("matched, large", pool[:LARGEST])
    yield Bank("matched, 250", pool[:250])
    for size in (64, 32, 16):
        yield Bank(f"matched, {size}", pool[rng.choice(len(pool), size, replace=False)])
    for name, queries in split.others.items():
        yield Bank(f"other: {name}", rng.permutation(queries)[:500])
    yield Bank("one topic", topic(pool, rng))
    few = pool[:80]
    copied = few[rng.choice(len(few), 1000, p=zipf(len(few)))]
    yield Bank("copies", copied)
    yield Bank("copies, re-encoded", reencoded(copied, rng))
    yield spam(split, pool[:250], rng)
    if split.gallery is None or split.likes is None:
        return
    yield Bank("the gallery", split.gallery)
    yield Bank("items like the gallery", rng.permutation(split.likes)[:LARGEST])
    shift = split.recent.mean(axis=0) - split.gallery.mean(axis=0)
    yield Bank("made: shifted items", unit(split.gallery + shift))
    yield Bank("made: mixed items", mixtures(split.likes, rng))


def zipf(count: int) -> np.ndarray:
    share = 1.0 / np.arange(1, count + 1)
    return share / share.sum()


def topic(pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The tenth of the pool that is nearest to one query, 40 at the least."""
    apart = pool - pool.mean(axis=0)
    near = apart @ apart[rng.integers(len(pool))] / np.linalg.norm(apart, axis=1)
    return pool[np.argsort(-near)[: max(40, len(pool) // 10)]]


def reencoded(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same rows as another program would keep them: in 16 bits, to four digits, or with a little noise."""
    kinds = (rows.astype(np.float16), rows.round(4), rows + 1e-4 * rng.normal(size=rows.shape) * rows.std())
    return np.stack([kind.astype(np.float32) for kind in kinds])[rng.integers(3, size=len(rows)), np.arange(len(rows))]


def spam(split: Split, pool: np.ndarray, rng: np.random.Generator) -> Bank:
    """Half of the bank is either three queries that a bot asks in ever new words, or no query at all."""
    count = len(pool)
    if rng.random() < 0.5:
        asked = pool[rng.choice(3, 2 * count)]
        noise = rng.normal(size=asked.shape) * 0.3 * np.linalg.norm(asked, axis=1, keepdims=True)
        rows, kind = asked + noise / np.sqrt(asked.shape[1]), "spam: a bot"
    else:
        rows, kind = pool.mean(axis=0) + rng.normal(size=(2 * count, pool.shape[1])) * pool.std(), "spam: noise"
    rows = (rows if split.gallery is None else unit(rows)).astype(np.float32)
    return Bank(kind, np.concatenate((pool[: count // 2], rows[: count // 2])), rows[count // 2 :])


def mixtures(items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """500 means of two items, with noise."""
    first, second = items[rng.integers(len(items), size=(2, 500))]
    return unit(first + second + rng.normal(size=first.shape) * 0.5 / np.sqrt(first.shape[1]))
