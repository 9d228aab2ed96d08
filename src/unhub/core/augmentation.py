"""One more dimension, so that any inner-product index serves corrected results: [q; 1] . [t; bias] = s + bias."""

from __future__ import annotations

import numpy as np

from unhub.foundation.types import FloatArray


def augment_targets(targets: FloatArray, bias: FloatArray) -> FloatArray:
    """[t; bias]: (gallery, dim + 1) float32.

    >>> t, q = np.eye(2, dtype=np.float32), np.array([[0.6, 0.8]], dtype=np.float32)
    >>> (augment_queries(q) @ augment_targets(t, np.array([0.5, -0.5])).T).round(3).tolist()
    [[1.100000023841858, 0.30000001192092896]]
    """
    return np.column_stack((np.asarray(targets, dtype=np.float32), bias.astype(np.float32)))


def augment_queries(queries: FloatArray) -> FloatArray:
    """[q; 1]: (query, dim + 1) float32."""
    ones = np.ones((queries.shape[0], 1), dtype=np.float32)
    return np.concatenate((np.asarray(queries, dtype=np.float32), ones), axis=1)
