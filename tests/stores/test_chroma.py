"""What is special to Chroma: folders, graphs, upserts that only add, scans of what changes."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import unhub
from stores.engines.chroma import settings
from stores.problem import Problem
from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, open_store
from unhub.stores.chroma import collection as adapter
from unhub.stores.chroma import items as chroma_items

chromadb = pytest.importorskip("chromadb")
pytestmark = pytest.mark.xdist_group("chroma")
RNG = np.random.default_rng(3)
EVERY_TYPE = {
    "text": "Gänse",
    "whole": 2**40,
    "part": 1.5,
    "yes": True,
    "no": False,
    "tags": ["a", "b"],
    "sizes": [1, 2],
}


def vectors(count, dim=8):
    made = RNG.standard_normal((count, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def block(count, *, rest=None, dim=8, start=0):
    return Block([f"item/{each}" for each in range(start, start + count)], vectors(count, dim), rest)


@pytest.fixture
def folder(tmp_path):
    """A folder that nobody has open, with a collection ``photos`` of 300 items that says how its graph is made."""
    with chromadb.PersistentClient(path=tmp_path / "data", settings=settings()) as client:
        graph = {"space": "cosine", "max_neighbors": 24, "ef_construction": 150, "ef_search": 77, "sync_threshold": 100}
        photos = client.create_collection(
            "photos", configuration={"hnsw": graph}, metadata={"about": "geese"}, embedding_function=None
        )
        photos.add(ids=[f"item/{each}" for each in range(300)], embeddings=vectors(300))
    return tmp_path / "data"


@pytest.fixture
def photos(folder):
    store = open_store(f"chroma://{folder}/photos")
    yield store
    store.close()


def one_sentence(caught, *words):
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    for word in words:
        assert word in said
    return said


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("chroma://localhost:8000", "collection"),
        ("chroma://localhost/a/b", "collection"),
        ("chroma:///photos", "folder"),
        ("chroma://me:hush@localhost/photos", "CHROMA_TOKEN"),
        ("chroma://localhost/photos?ssl=perhaps", "true or false"),
        ("chroma://localhost/photos?timeout=soon", "number"),
        ("chroma://localhost/photos?timeout=0", "more than 0"),
        ("chroma://localhost/photos?tennant=a", "tenant, database, ssl, timeout"),
        ("chroma:///data/photos?timeout=3", "tenant, database"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(url, word):
    with pytest.raises(InputError) as caught:
        open_store(url)
    assert "hush" not in one_sentence(caught, word)


def test_a_folder_without_a_database_stays_as_it_is(tmp_path):
    store = open_store(f"chroma://{tmp_path}/nothing/photos")
    assert not store.exists()
    store.drop()
    with pytest.raises(StoreError) as caught:
        store.describe()
    one_sentence(caught, "there is no Chroma database", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_found_from_where_we_are_and_telemetry_is_off(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    store = open_store("chroma://./data/photos")
    assert store.describe().count == 300
    assert store.url == f"chroma://{folder}/photos"
    assert store.connection.client.get_settings().anonymized_telemetry is False
    again = open_store(f"chroma://{folder}/photos")
    again.delete(["item/0"])
    assert store.describe().count == 299, "one process has one Chroma for one folder, however it is written"
    again.close()
    assert store.describe().count == 299
    store.close()


def test_a_file_of_settings_where_we_are_is_not_read(folder, monkeypatch, tmp_path):
    """It may be anybody's, and would say where Chroma sends its traces."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("chroma_otel_collection_endpoint=http://127.0.0.1:9\n")
    with closing(open_store(f"chroma://{folder}/photos")) as store:
        assert store.connection.client.get_settings().chroma_otel_collection_endpoint == ""


def test_a_folder_of_an_older_chroma_is_not_changed(folder):
    def inside(change=None):
        connection = sqlite3.connect(folder / "chroma.sqlite3")
        with connection:
            if change:
                connection.execute(change)
            tables = ("migrations", "sqlite_master", "collections", "embeddings")
            seen = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
        connection.close()
        return seen

    before = inside("DELETE FROM migrations WHERE dir = 'sysdb' AND version = 10")
    with pytest.raises(StoreError) as caught:
        open_store(f"chroma://{folder}/photos").describe()
    one_sentence(caught, "older Chroma", "PersistentClient")
    assert inside() == before


class Ours(chromadb.EmbeddingFunction):
    """A model that only those who made the collection have."""

    def __init__(self):
        pass

    def __call__(self, input):
        raise AssertionError("something was embedded")

    @staticmethod
    def name():
        return "ours"

    def get_config(self):
        return {}

    @staticmethod
    def build_from_config(config):
        return Ours()


@pytest.mark.parametrize("model", [None, Ours()])
def test_no_model_is_loaded_and_nobody_is_called(folder, model):
    with chromadb.PersistentClient(path=folder, settings=settings()) as client:
        chosen = {"embedding_function": model} if model else {}
        client.create_collection("texts", **chosen).add(ids=["a"], embeddings=[[1.0, 0.0]])
    code = f"""
import socket, sys
def refuse(*_): raise AssertionError("the network")
socket.socket.connect = socket.getaddrinfo = refuse
from unhub.stores import open_store
store = open_store("chroma://{folder}/texts")
made = store.sibling("texts_more")
made.create(store, 2, "ip")
for block in store.scan():
    made.upsert(block)
print(made.search([[1.0, 0.0]], 1).ids.tolist(), *(set(sys.modules) & {{"onnxruntime", "tokenizers"}}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=False)
    assert ran.stdout.strip() == "[['a']]", ran.stderr


def test_the_graph_is_a_little_wider_and_the_metadata_are_as_in_the_origin(photos):
    made = photos.sibling(photos.derived("0123abcd"))
    made.create(photos, 16, "ip")
    seen = made.describe()
    assert (seen.metric, seen.dim, seen.count, seen.unit, seen.index) == ("ip", 16, 0, None, "hnsw")
    client = photos.connection.client
    written = client.get_collection(made.name, embedding_function=None).configuration_json
    graph = written["hnsw"]
    wanted = {"space": "ip", "max_neighbors": 24, "ef_construction": 150, "ef_search": 108, "sync_threshold": 100}
    assert {key: graph[key] for key in wanted} == wanted
    assert client.get_collection(made.name, embedding_function=None).metadata["about"] == "geese"
    assert written["embedding_function"] == {"type": "legacy"}, "corrected vectors are nobody's embedding"
    assert made._known[1]._embedding_function is None
    assert np.equal(made.search(vectors(2, 16), 3).ids, None).all()


def test_a_graph_that_was_described_in_the_old_way(folder):
    with chromadb.PersistentClient(path=folder, settings=settings()) as client:
        old = client.create_collection("old", metadata={"hnsw:space": "cosine", "hnsw:M": 8}, embedding_function=None)
        old.add(ids=["a", "b"], embeddings=[[3.0, 0.0], [0.0, 2.0]])
    store = open_store(f"chroma://{folder}/old")
    assert (store.describe().metric, store.describe().unit) == ("cosine", False)
    np.testing.assert_allclose(store.search(np.array([[5.0, 0.0]]), 2).scores, [[1, 0]], atol=1e-6)
    made = store.sibling("new")
    made.create(store, 2, "ip")
    made.upsert(next(iter(store.scan())))
    assert made.describe().metric == "ip"
    assert made._look_up().metadata == {chroma_items.DIM: 2}, "or it would say cosine"
    np.testing.assert_allclose(made.search(np.array([[5.0, 0.0]]), 2).scores, [[15, 0]], atol=1e-5)
    store.close()


@pytest.mark.parametrize("kind", ["chroma", "chroma-folder"])
def test_everything_that_an_item_has_is_copied(engines, kind):
    engine = engines(kind)
    ids = ["7", "a b/ü", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "x" * 200]
    made = engine.client.create_collection("with_everything", embedding_function=None)
    made.add(
        ids=ids,
        embeddings=vectors(4),
        metadatas=[EVERY_TYPE, None, {"text": "only"}, None],
        documents=["the first document", None, "", "a fourth, said the goose"],
        uris=[None, "file:///b.png", None, None],
    )
    store = open_store(engine.url("with_everything"))
    copy = store.sibling("with_everything_copied")
    copy.create(store, 8, "l2")
    for some in store.scan(block=3):
        copy.upsert(some)
    include = ["metadatas", "documents", "uris", "embeddings"]
    wanted = made.get(include=include)
    got = engine.client.get_collection(copy.name, embedding_function=None).get(include=include)
    for name in ("ids", "metadatas", "documents", "uris"):
        assert got[name] == wanted[name]
    np.testing.assert_array_equal(got["embeddings"], wanted["embeddings"])
    filters = [
        {"whole": 2**40},
        {"$and": [{"yes": True}, {"part": {"$gt": 1}}]},
        {"where_document": {"$contains": "first"}},
    ]
    both = {"where": {"text": "Gänse"}, "where_document": {"$contains": "document"}}
    for asked in [*filters, both, {"where": {"tags": {"$contains": "b"}}}]:
        assert copy.search(vectors(1), 3, filter=asked).ids.tolist() == [["7", None, None]]
    copy.drop()
    store.drop()


def test_what_an_item_no_longer_has_is_gone_after_it_is_put_again(photos):
    ids, rows = ["kept", "less", "silent"], vectors(3)
    full = ({"colour": "red", "size": 1}, "a document", "file:///a")
    photos.upsert(Block(ids, rows, [full, full, full]))
    photos.upsert(Block(ids, -rows, [full, ({"size": 2}, None, None), (None, None, None)]))
    there = {each: rest for some in photos.scan() for each, rest in zip(some.ids, some.payload, strict=True)}
    assert [there[each] for each in ids] == [full, ({"size": 2}, None, None), (None, None, None)]
    photos.upsert(Block(["kept"], rows[:1]))
    assert photos.search(rows[:1], 1, filter={"colour": "red"}).ids.tolist() == [["kept"]]
    assert photos.describe().count == 303


def test_a_rare_filter_still_finds_the_best_of_its_items(photos):
    rows = vectors(3000)
    rare = RNG.permutation(3000)[:12]
    marks = [({"rare": int(each in rare)}, None, None) for each in range(3000)]
    photos.upsert(Block([f"more {each}" for each in range(3000)], rows, marks))
    asked = vectors(10)
    found = photos.search(asked, 8, filter={"rare": 1})
    wanted = rare[np.argsort(-(asked @ rows[rare].T), axis=1)[:, :8]]
    assert found.ids.tolist() == [[f"more {each}" for each in line] for line in wanted]
    assert np.equal(photos.search(asked, 20, filter={"rare": 1}).ids[:, 12:], None).all()


def test_a_filter_by_a_key_called_where_and_one_that_says_nothing(photos):
    photos.upsert(Block(["there"], vectors(1), [({"where": "Paris"}, None, None)]))
    assert photos.search(vectors(1), 2, filter={"where": "Paris"}).ids.tolist() == [["there", None]]
    assert None not in photos.search(vectors(1), 2, filter={}).ids


def test_filters_that_chroma_cannot_mean_get_one_sentence(photos):
    for filter, word in [("rare", "give a where"), ({"rare": {"$near": 1}}, "$near"), ({"$never": 1}, "where")]:
        with pytest.raises((InputError, StoreError)) as caught:
            photos.search(vectors(1), 3, filter=filter)
        one_sentence(caught, word)


def test_an_item_that_vanishes_while_others_are_read_is_told(photos):
    reading = photos.scan(block=100)
    assert len(next(reading)) == 100
    photos.delete(["item/250"])
    assert len(next(reading)) == 100
    with pytest.raises(StoreError) as caught:
        next(reading)
    one_sentence(caught, "changed while it was read")


def test_an_id_that_comes_twice_is_told(photos):
    reading = photos.ids(block=100)
    first = next(reading)
    photos.delete(first[:1])
    photos.upsert(Block(first[:1], vectors(1)))
    next(reading)
    with pytest.raises(StoreError) as caught:
        list(reading)
    one_sentence(caught, "changed while it was read")


def test_an_id_that_is_put_twice_at_once_is_refused(photos):
    with pytest.raises(StoreError) as caught:
        photos.upsert(Block(["same", "same"], vectors(2)))
    one_sentence(caught, "same", "duplicates")


def test_vectors_of_another_dimension_and_bad_names_are_refused(photos):
    with pytest.raises(StoreError) as caught:
        photos.upsert(block(2, dim=9))
    one_sentence(caught, "dimension of 8, got 9")
    with pytest.raises(StoreError) as caught:
        photos.sibling("no").create(photos, 8, "ip")
    one_sentence(caught, "3-512 characters")
    assert len(photos.sibling("n" * 512).derived("0123abcd")) == 512


def test_small_requests_give_the_same(photos, monkeypatch):
    asked = vectors(9)
    found = photos.search(asked, 5)
    rows = np.concatenate([some.vectors for some in photos.scan()])
    monkeypatch.setattr(chroma_items, "PAYLOAD", 400)
    monkeypatch.setattr(adapter, "READ", 56)
    monkeypatch.setattr(adapter, "LISTED", 110)
    again = photos.search(asked, 5)
    assert again.ids.tolist() == found.ids.tolist()
    np.testing.assert_array_equal(again.scores, found.scores)
    blocks = list(photos.scan())
    assert {len(some) for some in blocks} == {7, 6}
    np.testing.assert_array_equal(np.concatenate([some.vectors for some in blocks]), rows)
    more = block(20, start=1000)
    photos.upsert(more)
    assert photos.search(more.vectors, 1).ids[:, 0].tolist() == more.ids


def test_what_was_not_saved_yet_is_there_after_opening_again(photos):
    more = block(130, start=1000)
    photos.upsert(more)
    same = photos.sibling("photos")
    assert same.exists()
    photos.close()
    photos.finish()
    assert same.search(more.vectors[:1], 1).ids.tolist() == [more.ids[:1]], (
        "another that shared the client opens it too"
    )
    assert photos.search(more.vectors, 1).ids[:, 0].tolist() == more.ids
    assert photos.describe().count == 430


def test_a_collection_that_somebody_made_anew_is_found_again(photos):
    other = open_store(photos.url)
    assert photos.search(vectors(1), 1).ids[0, 0] is not None
    other.drop()
    with pytest.raises(StoreError):
        photos.search(vectors(1), 1)
    other.connection.client.create_collection("photos", embedding_function=None)
    photos.upsert(block(1))
    assert other.search(vectors(1), 1).ids.tolist() == [["item/0"]]
    other.close()


def test_tasks_that_begin_together_open_the_folder_once(tmp_path):
    """Many searches at once through a retriever that nobody has used yet."""
    problem = Problem.make(count=300, dim=16, queries=20)
    with chromadb.PersistentClient(path=tmp_path / "chroma", settings=settings()) as client:
        made = client.create_collection("photos", configuration={"hnsw": {"space": "ip"}}, embedding_function=None)
        made.add([str(row) for row in range(300)], embeddings=problem.vectors)
    url = f"chroma://{tmp_path}/chroma/photos"
    fitted = unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1)

    async def together():
        async with unhub.connect(url, fitted) as retriever:
            return await asyncio.gather(*(retriever.search_async(problem.queries[at : at + 1], 5) for at in range(16)))

    for _ in range(3):
        found = asyncio.run(together())
        assert [each.ids.shape for each in found] == [(1, 5)] * 16
