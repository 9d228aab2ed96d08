"""Connections that are held open: half-sent heads and bodies, many of them, against the real server."""

import contextlib
import resource
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from unhub.webapp import connection_limits
from unhub.webapp.connection_limits import ConnectionLimits, most_connections
from unhub.webapp.request_queue import RequestQueue

from .conftest import serving
from .test_abandoned import held, running, send, status, until  # noqa: F401

HALF = b"GET / HTTP/1.1\r\nHost: loc"
MANY = 1100


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_1100_half_sent_heads_lock_nobody_out(experiment, cache, many_files):
    with (
        serving(experiment, "--port", 0, cwd=experiment.parent, cache=cache) as address,
        contextlib.ExitStack() as open_,
    ):
        for _ in range(MANY):
            raw = open_.enter_context(socket.create_connection(("127.0.0.1", urlsplit(address).port), timeout=60))
            raw.sendall(HALF)
        for path in ("", "static/main.js", "api/about", "api/view"):
            assert httpx.get(address + path, timeout=60).status_code == 200


async def polite(scope, receive, send):
    """An app that reads a request and answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def closed(raw):
    """Reads until the server closes."""
    with contextlib.suppress(ConnectionResetError):
        while raw.recv(65536):
            pass
    return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        HALF,
        b"POST /api/compare HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
        b"POST /api/compare HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + HALF,
    ],
    ids=["nothing", "half a head", "half a body", "half a chunked body", "half a second head"],
)
def test_what_does_not_come_whole_is_closed(sent):
    with running(RequestQueue(polite), ConnectionLimits(seconds=0.3)) as (port, server):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(sent)
            assert closed(raw)
        until(lambda: not server.server_state.connections, "and forgotten")


def test_a_byte_now_and_then_does_not_keep_a_head_open():
    with (
        running(RequestQueue(polite), ConnectionLimits(seconds=0.3)) as (port, server),
        socket.create_connection(("127.0.0.1", port), timeout=60) as raw,
    ):
        raw.sendall(HALF)
        until(lambda: server.server_state.connections, "it is open")
        while server.server_state.connections:
            with contextlib.suppress(OSError):
                raw.sendall(b"a")
            time.sleep(0.02)


def test_a_request_that_is_being_answered_is_not_closed_by_time_nor_for_room(held):  # noqa: F811
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "it is computed")
    limits = next(iter(held.connections)).limits
    limits.seconds, limits.most = 0.2, 5
    half = []
    for _ in range(12):
        half.append(socket.create_connection(("127.0.0.1", held.port), timeout=60))
        half[-1].sendall(HALF)
    assert httpx.get(f"{held.address}/api/about").status_code == 200
    assert all(map(closed, half))
    held.gate.set()
    assert status(first) == 200


def test_fewer_connections_where_few_files_may_be_open(monkeypatch):
    for soft, most in ((resource.RLIM_INFINITY, 1000), (20000, 1000), (1024, 724), (256, 128)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections() == most
    assert connection_limits.SECONDS <= 10
