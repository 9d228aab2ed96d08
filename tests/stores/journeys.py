"""What the tests of whole journeys share: a filled collection, a correction of it in a file, and changes to it."""

import itertools
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import unhub
from stores.engines import VARIANTS
from unhub.stores import Block, open_store

COUNTER = itertools.count()


def every_store(kinds):
    """Parameters for the first variant of each store that is exact, approximate, or of both kinds."""
    chosen = {}
    for variant in VARIANTS:
        if variant.exact in kinds:
            chosen.setdefault((variant.store, variant.exact), variant)
    return [pytest.param(each, id=str(each), marks=pytest.mark.xdist_group(each.store)) for each in chosen.values()]


class Journey:
    """One collection in one real store, and a correction of it in a file."""

    def __init__(self, engine, variant, problem, folder, *, metric="cosine"):
        self.engine, self.variant, self.problem = engine, variant, problem
        metric = metric if metric in variant.metrics else variant.metrics[0]
        self.name = f"journey_{next(COUNTER)}"
        ids, vectors, groups = problem.ids, problem.vectors, problem.groups
        self.url = engine.fill(self.name, ids, vectors, groups, metric=metric, index=variant.index)
        self.file = folder / "photos.unhub"

    def fit(self):
        """Fits from the store and saves; the bias surely changes rankings, and is served at a strength other than 1."""
        fitted = unhub.fit("sn", targets=self.url, query_bank=self.problem.queries, tau=0.05, strength=0.8)
        fitted.save(self.file)
        return fitted

    def exact(self, correction=None):
        """score + strength * bias of every query and every item of the problem, in float64."""
        bias = dict(zip(*self._bias(correction or unhub.load(self.file)), strict=True))
        return self.problem.inner() + np.array([bias.get(each, 0.0) for each in self.problem.ids])

    def _bias(self, correction):
        return correction.ids, correction.served_bias.tolist()

    def change(self, *, gone=(), put=None):
        """Changes the raw collection as its owner would; ``upsert`` is {id: vector}."""
        if hasattr(self.engine, "change"):
            self.engine.change(self.name, gone, put or {})
            return
        with closing(open_store(self.url)) as store:
            if gone:
                store.delete(list(gone))
            if put:
                first = next(iter(store.scan(block=1))).pick([0] * len(put))
                rest = first.payload
                vectors = np.stack(list(put.values())).astype(np.float32)
                store.upsert(Block(list(put), vectors, rest))
            store.finish()


def without(correction, gone):
    """The correction as if some items had never been fitted."""
    keep = np.array([each not in gone for each in correction.ids])
    names = tuple(each for each, stays in zip(correction.ids, keep, strict=True) if stays)
    kept = {
        "bias": correction.bias[keep],
        "_digests": correction._digests[keep],
        "_sketches": correction._sketches[keep],
    }
    return replace(correction, **kept, ids=names, targets=None)
