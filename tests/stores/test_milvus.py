"""Where Milvus is: addresses, files that one process holds, servers, secrets, databases."""

# ruff: noqa: F811 fixtures are arguments

import logging
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import unhub
from stores.engines.milvus import TOKEN
from stores.milvus_cases import BOTH, LITE, SERVER, copied, engine, name, opened, some_vectors  # noqa: F401
from stores.problem import Problem
from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, open_store


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("milvus://localhost:19530/", "name of one collection"),
        ("milvus://localhost:19530/a/b", "name of one collection"),
        ("milvus:///data/folder/photos", "ends in .db"),
        ("milvus://./photos", "ends in .db"),
        ("milvus://localhost/photos?colour=red", "no option 'colour'"),
        ("milvus://localhost/photos?timeout=soon", "give a number"),
    ],
)
def test_an_address_that_cannot_be_meant_gets_one_sentence(url, said):
    with pytest.raises(InputError, match=said) as caught:
        open_store(url)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    store = open_store(f"milvus://{tmp_path}/nothing.db/photos")
    assert not store.exists()
    store.drop()
    with pytest.raises(StoreError, match="there is no file"):
        store.describe()
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_found_from_where_one_is(tmp_path, monkeypatch):
    from pymilvus import MilvusClient

    monkeypatch.chdir(tmp_path)
    client = MilvusClient("here.db")
    client.create_collection("photos", dimension=4, metric_type="IP")
    client.insert("photos", [{"id": 5, "vector": [1.0, 0.0, 0.0, 0.0]}])
    for url in ("milvus://./here.db/photos", "milvus://here.db/photos", f"milvus://{tmp_path}/here.db/photos"):
        assert [list(block.ids) for block in open_store(url).scan()] == [["5"]]
    client.close()


def test_a_file_is_let_go_of_when_nobody_has_it_open(tmp_path):
    from pymilvus import MilvusClient

    file = tmp_path / "held.db"
    user = MilvusClient(str(file))
    user.create_collection("photos", dimension=4)
    store, other = open_store(f"milvus://{file}/photos"), open_store(f"milvus://{file}/photos")
    assert store.exists()
    assert other.exists()
    store.close()
    assert user.list_collections() == ["photos"]
    assert store.exists(), "a closed collection opens again by itself"
    user.close()
    del user
    store.close()
    assert other.exists()
    ask = f"from unhub.stores import open_store; print(open_store('milvus://{file}/photos').exists())"
    refused = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=_environment())
    assert "close it in the other process" in refused.stderr.strip().splitlines()[-1]
    other.close()
    allowed = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=_environment())
    assert allowed.stdout == "True\n"


def _environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@BOTH
def test_an_error_is_told_once_and_not_logged_by_the_client_too(engine):
    told = []
    listener = logging.Handler()
    listener.emit = told.append
    loud = logging.getLogger("pymilvus.decorators")
    loud.addHandler(listener)
    try:
        store = open_store(engine.url("not_there"))
        with pytest.raises(StoreError, match="not_there"):
            store.describe()
        assert store.alias("no_such_alias") is None
        store.close()
        assert told == []
        with pytest.raises(Exception, match="not_there"):
            engine.client.describe_collection("not_there")
        assert told, "what the client does for others is its own affair"
    finally:
        loud.removeHandler(listener)


@LITE
def test_what_milvus_repeats_of_a_secret_is_taken_out(engine, name, opened, monkeypatch):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    opened(engine.url(name))
    by_address = open_store(engine.url(name, "token=geheim"))
    monkeypatch.setenv("MILVUS_TOKEN", "geheim")
    for store in (by_address, open_store(engine.url(name))):
        with pytest.raises(StoreError, match=r"\*\*\* <<< 3") as caught:
            store.search(some_vectors(1), 1, filter="geheim <<< 3")
        assert "geheim" not in str(caught.value)
        assert "geheim" not in store.url
        store.close()


def test_a_server_that_is_not_there_gets_one_sentence_without_the_secrets():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for url in (
        f"milvus://me:geheim@127.0.0.1:{port}/x?timeout=1",
        f"milvus://127.0.0.1:{port}/x?timeout=1&token=geheim",
    ):
        with pytest.raises(StoreError, match="check that the store runs") as caught:
            open_store(url).exists()
        assert "geheim" not in str(caught.value)
        assert "\n" not in str(caught.value)


@SERVER
def test_wrong_credentials_get_one_sentence_without_them(engine, monkeypatch):
    where = f"{engine.begin}/x?timeout=3"
    for url in (f"milvus://root:geheim@{where}", f"milvus://{where}&token=root:geheim"):
        with pytest.raises(StoreError) as caught:
            open_store(url).exists()
        assert "geheim" not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not open_store(f"milvus://{TOKEN}@{where}").exists()
    monkeypatch.setenv("MILVUS_TOKEN", "root:geheim")
    with pytest.raises(StoreError) as caught:
        open_store(f"milvus://{where}").exists()
    assert "geheim" not in str(caught.value)
    assert not open_store(f"milvus://{where}&token={TOKEN}").exists()


def test_a_server_that_ends_in_the_middle_gets_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "milvus_lite",
        "server",
        "--data-dir",
        str(tmp_path / "data"),
        "--host",
        "127.0.0.1",
    ]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client = _connected(server, f"http://127.0.0.1:{port}")
        client.create_collection("photos", dimension=4, metric_type="IP")
        store = open_store(f"milvus://127.0.0.1:{port}/photos?timeout=1")
        block = Block(["1", "2"], np.eye(4, dtype=np.float32)[:2])
        store.upsert(block)
        assert store.describe().count == 2
        scan = store.scan(block=1)
        assert next(scan).ids == ["1"]
    finally:
        server.kill()
        server.wait()
    for act in (lambda: store.upsert(block), lambda: next(scan), store.finish):
        with pytest.raises(StoreError, match="check that the store runs") as caught:
            act()
        assert "\n" not in str(caught.value)


def _connected(server, uri):
    from pymilvus import MilvusClient, MilvusException

    while True:
        try:
            return MilvusClient(uri, timeout=5, dedicated=True)
        except MilvusException:
            assert server.poll() is None, "the server did not start"


@BOTH
def test_what_was_loaded_only_to_be_read_is_released(engine, name, opened):
    engine.make(name, dim=8, metric="ip", index="FLAT")
    engine.client.insert(name, [{"pk": 1, "embedding": some_vectors(1)[0]}])
    engine.client.release_collection(name)
    store = open_store(engine.url(name))
    assert store.describe().count == 1
    assert str(engine.client.get_load_state(name)["state"]) == "Loaded"
    store.close()
    assert str(engine.client.get_load_state(name)["state"]) == "NotLoad"
    engine.client.load_collection(name)
    assert store.describe().count == 1
    store.close()
    assert str(engine.client.get_load_state(name)["state"]) == "Loaded"
    opened(store)


@BOTH
def test_a_database_is_chosen_by_name(engine, name):
    from pymilvus import MilvusClient

    database = f"other_{name}"
    engine.client.create_database(database)
    store = open_store(engine.url(name, f"database={database}"))
    assert not store.exists()
    there = MilvusClient(engine.uri, token=TOKEN, db_name=database, dedicated=True)
    there.create_collection(name, dimension=8, metric_type="IP")
    assert store.exists()
    assert not open_store(engine.url(name)).exists()
    store.upsert(Block(["1"], some_vectors(1)))
    new = copied(store)
    assert new.describe().count == 1
    assert sorted(there.list_collections()) == sorted([name, new.name])
    for each in (new, store):
        each.drop()
    assert there.list_collections() == []
    store.close()
    there.close()
    engine.client.drop_database(database)


def test_a_long_name_still_gets_a_name_beside_it():
    store = open_store(f"milvus://localhost/{'n' * 255}")
    assert store.derived("0123abcd") == "n" * 240 + "_unhub_0123abcd"


def test_a_file_is_tested_by_the_index_that_will_serve(tmp_path):
    """Milvus Lite looks at every row until it uses a new index, and a self-test by that would prove nothing."""
    from pymilvus import DataType, MilvusClient

    problem = Problem.make(count=3000, dim=32, queries=200)
    client = MilvusClient(str(tmp_path / "photos.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=32)
    thin = client.prepare_index_params()
    thin.add_index("vector", index_type="HNSW", metric_type="IP", params={"M": 4, "efConstruction": 10})
    client.create_collection("photos", schema=schema, index_params=thin)
    client.insert("photos", [{"id": row, "vector": each.tolist()} for row, each in enumerate(problem.vectors)])
    client.flush("photos")
    client.close()
    url, file = f"milvus://{tmp_path}/photos.db/photos?ef=12", tmp_path / "photos.unhub"
    unhub.fit("sn", targets=url, query_bank=problem.queries, tau=0.05, strength=1).save(file)
    first, again = unhub.export(file, url), unhub.export(file, url)
    assert first.self_test.raw_recall < 0.99
    assert (again.written, again.self_test.effort) == (0, first.self_test.effort)
    assert again.self_test.recall == pytest.approx(first.self_test.recall, abs=0.005)
