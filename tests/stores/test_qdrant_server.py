"""How the adapter behaves towards a Qdrant server, as far as that can be seen without one.

No server runs here. Loopback listeners stand for what any server may do: be absent, be silent, refuse, hang up.
"""

import http.server
import socket
import threading

import numpy as np
import pytest

from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, open_store, parse
from unhub.stores.qdrant.client import _server, settings_like

pytest.importorskip("qdrant_client")
from qdrant_client import models

KEY = "very/secret key"
QUOTED = "very%2Fsecret%20key"


@pytest.fixture
def listener():
    """A function that starts a handler of HTTP requests on loopback and gives its port."""
    running = []

    def start(handle):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def _any(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _any

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return server.server_address[1]

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def answer(handler, status, body):
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def free_port():
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def test_to_open_connects_to_nothing():
    assert open_store("qdrant://no.such.host.invalid/photos").name == "photos"


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize("options", ["", "&prefer_grpc=true&grpc_port={port}"])
def test_a_server_that_is_not_there_gets_one_sentence(options):
    port = free_port()
    address = str(parse(f"qdrant://127.0.0.1:{port}/photos?https=false&timeout=2{options.format(port=port)}"))
    store = open_store(f"{address}&api_key={QUOTED}")
    assert store.url == address
    for act in (store.describe, store.exists, lambda: list(store.scan()), store.finish, store.drop):
        with pytest.raises(StoreError) as caught:
            act()
        said = str(caught.value)
        assert said.startswith(address)
        assert said.endswith("check that the store runs and can be reached, then run the same again.")
        assert "\n" not in said
        assert "secret" not in said


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize("way", ["url", "password", "environment"])
def test_a_refused_key_is_sent_and_not_shown(listener, monkeypatch, way):
    sent = []

    def refuse(handler):
        sent.append(handler.headers["api-key"])
        answer(handler, 403, f'{{"status": {{"error": "Forbidden: {sent[-1]}"}}}}'.encode())

    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    host = f"127.0.0.1:{listener(refuse)}"
    if way == "environment":
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
    login = f":{QUOTED}@" if way == "password" else ""
    store = open_store(f"qdrant://{login}{host}/photos?https=false{f'&api_key={QUOTED}' if way == 'url' else ''}")
    with pytest.raises(StoreError) as caught:
        store.describe()
    assert set(sent) == {KEY}
    assert "secret" not in str(caught.value)
    assert "403" in str(caught.value)
    assert "secret" not in store.url
    assert "secret" not in repr(store.address)


def test_a_server_that_does_not_answer_is_given_up_after_the_timeout(listener):
    done = threading.Event()
    store = open_store(f"qdrant://127.0.0.1:{listener(lambda _: done.wait(30))}/photos?https=false&timeout=1")
    with pytest.raises(StoreError, match=r"timed out.*can be reached, then run the same again"):
        store.describe()
    done.set()


@pytest.mark.filterwarnings("ignore:Batch upload failed")
def test_a_server_that_stops_in_the_middle_of_a_put_gets_one_sentence(listener):
    asked = []

    def hang_up(handler):
        asked.append(handler.command)
        if handler.command == "GET":
            answer(handler, 200, COLLECTION)
        elif asked.count("PUT") == 1:
            answer(handler, 200, b'{"result": {"operation_id": 0, "status": "completed"}, "status": "ok", "time": 0}')
        else:
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True

    store = open_store(f"qdrant://127.0.0.1:{listener(hang_up)}/photos?https=false&timeout=5")
    with pytest.raises(StoreError) as caught:
        store.upsert(Block([str(each) for each in range(1200)], np.ones((1200, 4), dtype=np.float32)))
    assert asked.count("PUT") == 1 + 4  # one batch that went well, one that the client tried again three times
    assert "photos?https=false&timeout=5 cannot be written" in str(caught.value)
    assert str(caught.value).endswith("check that the store runs and can be reached, then run the same again.")
    assert "\n" not in str(caught.value)


def test_the_end_waits_until_nothing_is_left_to_index(listener):
    states = ["yellow", "grey", "yellow", "green", "yellow", "green", "green", "red"]
    asked = []

    def state(handler):
        asked.append(handler.command)
        if handler.command == "PATCH":
            answer(handler, 200, b'{"result": true, "status": "ok", "time": 0}')
        else:
            answer(handler, 200, COLLECTION.replace(b'"green"', f'"{states.pop(0)}"'.encode()))

    store = open_store(f"qdrant://127.0.0.1:{listener(state)}/photos?https=false")
    store.finish()
    assert states == ["red"]
    assert asked == ["GET", "GET", "PATCH", "GET", "GET", "GET", "GET", "GET"]
    with pytest.raises(StoreError, match=r"cannot be finished .*could not build the index"):
        store.finish()


def test_what_the_address_says_reaches_the_client():
    said = _server(
        parse("qdrant://db.example.com:443/behind/proxy/photos?https=true&timeout=2.5&prefer_grpc=true"), KEY
    )
    assert said["host"] == "db.example.com"
    assert (said["port"], said["grpc_port"], said["prefer_grpc"]) == (443, 6334, True)
    assert (said["https"], said["prefix"], said["timeout"], said["api_key"]) == (True, "behind/proxy", 3, KEY)
    plain = _server(parse("qdrant://localhost/photos"), None)
    assert (plain["port"], plain["https"], plain["prefix"], plain["prefer_grpc"]) == (6333, None, None, False)


def config(**params):
    vectors = {
        "image": models.VectorParams(
            size=4, distance="Dot", on_disk=True, datatype="uint8", hnsw_config=models.HnswConfigDiff(m=4)
        ),
        "title": models.VectorParams(size=3, distance="Manhattan"),
        "photos_unhub_1": models.VectorParams(size=8, distance="Dot"),
    }
    return models.CollectionConfig(
        params=models.CollectionParams(
            **{
                "vectors": vectors,
                "sparse_vectors": {"words": models.SparseVectorParams()},
                "shard_number": 2,
                **params,
            }
        ),
        hnsw_config=models.HnswConfig(m=32, ef_construct=200, full_scan_threshold=10, payload_m=8),
        optimizer_config=models.OptimizersConfig(
            deleted_threshold=0.3,
            vacuum_min_vector_number=500,
            default_segment_number=3,
            flush_interval_sec=5,
            indexing_threshold=100,
        ),
        quantization_config=models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type="int8", quantile=0.9)
        ),
        strict_mode_config=models.StrictModeConfigOutput(enabled=True, unindexed_filtering_retrieve=False),
    )


def test_a_new_collection_is_asked_for_with_the_settings_of_the_old():
    old = config()
    made = settings_like(old, "image", 16, "Cosine")
    assert set(made["vectors_config"]) == {"image", "title"}
    image = made["vectors_config"]["image"]
    assert (image.size, image.distance, image.on_disk, image.hnsw_config.m) == (16, models.Distance.COSINE, True, 4)
    assert image.datatype is None, "whole numbers cannot hold a bias"
    assert old.params.vectors["image"].size == 4
    assert set(made["sparse_vectors_config"]) == {"words"}
    assert made["shard_number"] == 2
    hnsw, optimizers = made["hnsw_config"], made["optimizers_config"]
    assert (hnsw.m, hnsw.ef_construct, hnsw.full_scan_threshold, hnsw.payload_m) == (32, 200, 10, 8)
    assert (optimizers.deleted_threshold, optimizers.default_segment_number, optimizers.indexing_threshold) == (
        0.3,
        3,
        100,
    )
    assert made["quantization_config"].scalar.quantile == 0.9
    assert made["strict_mode_config"].unindexed_filtering_retrieve is False
    single = settings_like(
        config(vectors=models.VectorParams(size=4, distance="Dot", datatype="float16")), "", 8, "Dot"
    )
    assert (single["vectors_config"].size, single["vectors_config"].datatype.value) == (8, "float16")


def test_shard_keys_cannot_be_taken_over():
    with pytest.raises(InputError, match="shard keys"):
        settings_like(config(sharding_method="custom"), "image", 16, "Dot")


COLLECTION = b"""{"result": {"status": "green", "optimizer_status": "ok", "segments_count": 1, "points_count": 0,
"indexed_vectors_count": 0, "payload_schema": {}, "config": {"params": {"vectors": {"size": 4, "distance": "Dot"}},
"hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}, "optimizer_config":
{"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0, "flush_interval_sec": 5}}},
"status": "ok", "time": 0}"""
"""what a server tells of a collection"""
