"""What the tests of Milvus share: the two engines, names, collections that are dropped in the end, and copies."""

import itertools

import numpy as np
import pytest

from unhub.stores import Block, open_store

EACH = [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in ("milvus", "milvus_server")]
BOTH = pytest.mark.parametrize("engine", EACH, indirect=True)
LITE = pytest.mark.parametrize("engine", EACH[:1], indirect=True)
SERVER = pytest.mark.parametrize("engine", EACH[1:], indirect=True)
COUNTER = itertools.count()


@pytest.fixture
def engine(engines, request):
    return engines(request.param)


@pytest.fixture
def name():
    return f"special_{next(COUNTER)}"


@pytest.fixture
def opened():
    """Opens collections and drops them in the end, in the reverse order."""
    stores = []

    def open_one(store):
        stores.append(open_store(store) if isinstance(store, str) else store)
        return stores[-1]

    yield open_one
    for store in reversed(stores):
        store.drop()
        store.close()


def some_vectors(count, dim=8, seed=3):
    made = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def rows_of(engine, name):
    """Everything that a collection holds by the client itself: key -> the other fields."""
    engine.client.load_collection(name)
    found = engine.client.query(name, filter="", output_fields=["*"], limit=1000, consistency_level="Strong")
    return {row.pop("pk"): row for row in map(dict, found)}


def copied(store, dim=16, metric="ip"):
    """A collection beside it with the same items, their vectors filled up with zeros."""
    new = store.sibling(store.derived("0123abcd"))
    new.create(store, dim, metric)
    for block in store.scan():
        wide = np.zeros((len(block), dim), dtype=np.float32)
        wide[:, : block.vectors.shape[1]] = block.vectors
        new.upsert(Block(block.ids, wide, block.payload))
    new.finish()
    return new


def type_of(name):
    from pymilvus import DataType

    return DataType[name]
