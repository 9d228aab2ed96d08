"""Random score matrices that look like real ones, with hubs, as float32."""

import numpy as np

SPREAD = 0.05
"""standard deviation of cosine similarities in CLIP-like models"""


def scores(rng, rows, columns, scale=1.0):
    """Cosine-like scores around 0.2, times a logit scale; a few columns are hubs, some rows are popular.

    A row or a column moves as a whole by about the spread, so that both sides have something to correct.
    """
    noise = rng.normal(0.2, SPREAD, (rows, columns))
    hubs = rng.normal(0, SPREAD, columns) * (rng.random(columns) < 0.2)
    return (scale * (noise + hubs + rng.normal(0, SPREAD / 2, (rows, 1)))).astype(np.float32)


def unit_vectors(rng, rows, dim, shift=0.7):
    """Unit rows, all leaning to one side as embeddings of one modality do."""
    x = rng.normal(size=(rows, dim))
    x[:, 0] += shift * np.sqrt(dim)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def weights(rng, size):
    """Positive weights, the largest about ten times the smallest."""
    return np.exp(rng.uniform(-1.2, 1.2, size))
