"""What is special to a Chroma server: tokens, tenants, silence, its end amid a write, its largest request."""

import socket
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from stores.engines.chroma import Server
from unhub.foundation.errors import StoreError
from unhub.stores import Block, open_store

pytest.importorskip("chromadb")
pytestmark = pytest.mark.xdist_group("chroma")
RNG = np.random.default_rng(5)
SECRET = "hush-hush"


def block(count, *, rest=None, dim=4):
    made = RNG.standard_normal((count, dim)).astype(np.float32)
    return Block([f"item {each}" for each in range(count)], made, rest)


def one_sentence(caught, *words):
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    for word in words:
        assert word in said
    return said


@pytest.fixture
def server(tmp_path):
    """A server of its own, for what must be stopped or set up otherwise."""
    running = []

    def start(**options):
        running.append(Server(tmp_path, **options))
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def gate(engines):
    """A door before the real server, as proxies are: it wants a token, and says aloud which one it was given."""
    engine = engines("chroma")

    class Door(BaseHTTPRequestHandler):
        def do_GET(self):
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            given = {
                self.headers.get("X-Chroma-Token"),
                (self.headers.get("Authorization") or "").removeprefix("Bearer "),
            }
            if given != {SECRET}:
                return self.say(401, f"no entry with {given}\nat all".encode())
            url = f"http://127.0.0.1:{engine.port}{self.path}"
            passed = {"Content-Type": "application/json"}
            try:
                with urllib.request.urlopen(urllib.request.Request(url, sent, passed, method=self.command)) as answer:
                    return self.say(answer.status, answer.read())
            except urllib.error.HTTPError as error:
                return self.say(error.code, error.read())

        do_POST = do_DELETE = do_GET

        def say(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    door = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=door.serve_forever)
    thread.start()
    yield engine, door.server_address[1]
    door.shutdown()
    thread.join()
    door.server_close()


def test_a_token_comes_from_the_address_or_the_environment_and_is_never_shown(gate, monkeypatch):
    engine, port = gate
    engine.client.create_collection("guarded", embedding_function=None).add(ids=["a"], embeddings=[[1.0, 0.0]])
    by_address = open_store(f"chroma://127.0.0.1:{port}/guarded?token={SECRET}")
    assert by_address.search(np.array([[1.0, 0.0]]), 1).ids.tolist() == [["a"]]
    assert SECRET not in by_address.url + repr(by_address)
    monkeypatch.setenv("CHROMA_TOKEN", SECRET)
    by_environment = open_store(by_address.url)
    assert by_environment.describe().count == 1
    assert by_environment.sibling("guarded").describe().count == 1
    assert SECRET not in by_environment.url + repr(by_environment)
    monkeypatch.setenv("CHROMA_TOKEN", "wrong-word")
    for url in (by_address.url, f"{by_address.url}?token=wrong-word"):
        with pytest.raises(StoreError) as caught:
            open_store(url).describe()
        assert "wrong-word" not in one_sentence(caught, "401", "guarded")
    by_address.close()
    by_environment.drop()
    by_environment.close()


@pytest.mark.parametrize("which", ["tenant", "database"])
def test_a_tenant_or_database_that_is_not_there_is_named(engines, which):
    with pytest.raises(StoreError) as caught:
        open_store(f"{engines('chroma').url('photos')}?{which}=elsewhere").describe()
    one_sentence(caught, "[elsewhere] not found")


def test_a_database_of_another_name(engines):
    import chromadb
    from chromadb.config import Settings

    engine = engines("chroma")
    there = {"chroma_api_impl": "chromadb.api.fastapi.FastAPI", "chroma_server_host": "127.0.0.1"}
    admin = chromadb.AdminClient(Settings(**there, chroma_server_http_port=engine.port, anonymized_telemetry=False))
    admin.create_tenant("ours")
    admin.create_database("shop", tenant="ours")
    client = chromadb.HttpClient(host="127.0.0.1", port=engine.port, tenant="ours", database="shop")
    client.create_collection("photos", embedding_function=None).add(ids=["a"], embeddings=[[1.0, 0.0]])
    store = open_store(f"{engine.url('photos')}?tenant=ours&database=shop")
    assert store.describe().count == 1
    made = store.sibling("photos_more")
    made.create(store, 2, "ip")
    assert "photos_more" in [each.name for each in client.list_collections()]
    assert open_store(made.url).exists()
    assert not open_store(engine.url("photos_more")).exists()


def test_nobody_at_the_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreError) as caught:
        open_store(f"chroma://127.0.0.1:{port}/photos").describe()
    one_sentence(caught, "refused", "check that the store runs")


def test_somebody_who_never_answers_is_waited_for_no_longer_than_said():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(StoreError) as caught:
            open_store(f"chroma://127.0.0.1:{silent.getsockname()[1]}/photos?timeout=0.2").exists()
    one_sentence(caught, "timed out", "check that the store runs")


def test_every_request_has_the_timeout(engines):
    store = open_store(f"{engines('chroma').url('photos')}?timeout=7")
    assert not store.exists()
    assert store.connection.client._server._session.timeout.read == 7
    store.close()


def test_a_server_that_ends_in_the_middle_of_a_write(server):
    engine = server()
    engine.client.create_collection("photos", embedding_function=None)
    store = open_store(engine.url("photos"))

    class EndsIt(list):
        def __getitem__(self, at):
            if at == 6000:
                engine.stop()
            return super().__getitem__(at)

    rest = [({"row": each}, None, None) for each in range(7000)]
    whole = block(7000, rest=rest)
    with pytest.raises(StoreError) as caught:
        store.upsert(Block(whole.ids, whole.vectors, EndsIt(rest)))
    one_sentence(caught, "photos", "check that the store runs", "run the same again")
    engine.process = engine.run()
    begun = store.describe().count
    assert 0 < begun < 7000
    store.upsert(whole)
    store.finish()
    assert store.describe().count == 7000
    assert store.search(whole.vectors[6990:6991], 1, filter={"row": 6990}).ids.tolist() == [["item 6990"]]


def test_documents_that_are_too_long_for_one_request_go_in_several(server):
    engine = server(payload=100_000)
    engine.client.create_collection("photos", embedding_function=None)
    store = open_store(engine.url("photos"))
    rest = [(None, f"document {each} " * 100, None) for each in range(200)]
    store.upsert(block(200, rest=rest))
    assert [each for some in store.scan(block=90) for each in some.payload] == rest
    with pytest.raises(StoreError) as caught:
        store.upsert(block(1, rest=[(None, "x" * 200_000, None)]))
    one_sentence(caught, "too large")
