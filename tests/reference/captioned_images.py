"""A small search for images by captions, with hubs: what tests of the guard judge by."""

import numpy as np

TARGETS, BANK, RECENT = 60, 150, 80


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def captioned_images(queries=BANK):
    """Images with hubs, captions of them as bank, recent and judged queries, and captions of another world."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=24)
    images = unit(rng.normal(size=(TARGETS, 24)) + rng.gamma(1.0, 0.4, size=(TARGETS, 1)) * common)

    def captions(rows):
        return unit(images[rows] + 0.12 * common + 0.2 * rng.normal(size=(len(rows), 24)))

    bank, recent = captions(rng.integers(0, TARGETS, queries)), captions(rng.integers(0, TARGETS, RECENT))
    answers = rng.integers(0, TARGETS, RECENT)
    return {
        "targets": images,
        "query_bank": bank,
        "recent": recent,
        "asked": captions(answers),
        "answers": answers,
        "elsewhere": unit(rng.normal(size=(BANK, 24)) - 3 * common),
    }
