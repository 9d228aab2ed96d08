"""Requests that nobody waits for: the real server over real sockets, with computations counted and held back."""

import contextlib
import socket
import threading
import time
from types import SimpleNamespace

import httpx
import pytest

from unhub.analysis import session
from unhub.webapp.app import make_app
from unhub.webapp.connection_limits import ConnectionLimits
from unhub.webapp.request_queue import RequestQueue
from unhub.webapp.security import AccessPolicy
from unhub.webapp.server import bind, make_server


def until(true, what):
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends, what
        time.sleep(0.01)


@contextlib.contextmanager
def running(app, clients=None):
    """A server in a thread of this process: its port and itself."""
    server = make_server(app, clients)
    with bind("127.0.0.1", 0) as opened:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
        thread.start()
        try:
            yield opened.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def held(experiment, tmp_path, monkeypatch):
    """The experiment's server, whose rankings are noted by their temperature and go on when the gate opens."""
    ranked, gate, whole = [], threading.Event(), session.measure_method
    gate.set()

    def measure_method(label, settled, *rest):
        ranked.append(getattr(settled.method, "tau", label))
        assert gate.wait(60)
        return whole(label, settled, *rest)

    monkeypatch.setattr(session, "measure_method", measure_method)
    app = make_app(session.Session.open(experiment), AccessPolicy.of("127.0.0.1", None), maps=tmp_path)
    with running(app) as (port, server):
        httpx.get(f"http://127.0.0.1:{port}/api/view", params={"method": "none"}).raise_for_status()
        ranked.clear()
        gate.clear()
        yield SimpleNamespace(
            port=port,
            address=f"http://127.0.0.1:{port}",
            ranked=ranked,
            gate=gate,
            queue=app.app.queues["rankings"],
            connections=server.server_state.connections,
        )
        gate.set()


def send(held, tau, *, path="/api/view", tab=None):
    """Asks for a ranking over a connection of its own, without waiting for it."""
    raw = socket.create_connection(("127.0.0.1", held.port), timeout=60)
    said = f"X-Unhub-Tab: {tab}\r\nX-Unhub-Request: view\r\n" if tab else ""
    raw.sendall(f"GET {path}?method=is&tau={tau} HTTP/1.1\r\nHost: localhost\r\n{said}\r\n".encode())
    return raw


def status(raw):
    """The status of an answer, once it is there."""
    return int(raw.recv(65536).split()[1])


def test_150_abandoned_requests_cost_another_visitor_one_computation(held):
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    abandoned = [send(held, 0.3 + number / 1000) for number in range(150)]
    until(lambda: held.queue.waiting == 150, "all wait")
    for each in (first, *abandoned):
        each.close()
    other = send(held, 0.25)
    until(lambda: held.queue.waiting == 1, "those who left are out of the line")
    held.gate.set()
    assert status(other) == 200
    assert held.ranked == [0.2, 0.25]


def test_requests_sent_ahead_do_not_hide_that_the_client_left(held):
    """Whoever sends more behind a request that waits, and closes, has left all the same."""
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    abandoned = [send(held, 0.3 + number / 1000) for number in range(20)]
    until(lambda: held.queue.waiting == 20, "all wait")
    for _ in range(2):
        for each in abandoned:
            each.sendall(b"GET /api/view?method=is&tau=0.7 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.05)
    for each in abandoned:
        each.close()
    until(lambda: held.queue.waiting == 0, "nobody waits")
    held.gate.set()
    assert status(first) == 200
    assert held.ranked == [0.2]


def test_a_computation_stops_between_methods_when_its_client_leaves(held):
    first = send(held, 0.2, path="/api/compare/3")
    until(lambda: len(held.ranked) == 1, "it has begun")
    first.close()
    until(lambda: not held.connections, "the server knows")
    held.gate.set()
    assert status(send(held, 0.25)) == 200
    assert held.ranked == [0.2, 0.25], "a comparison ranks four methods"


def test_the_newest_setting_of_a_tab_takes_the_place_of_older_ones(held):
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    newest = send(held, 0.3, tab="slider")
    until(lambda: held.queue.waiting == 1, "the first setting waits")
    for number in range(1, 150):
        older, newest = newest, send(held, 0.3 + number / 1000, tab="slider")
        assert status(older) == 409
    other = send(held, 0.25, tab="other")
    until(lambda: held.queue.waiting == 2, "the newest of each tab waits")
    held.gate.set()
    assert [status(each) for each in (first, newest, other)] == [200] * 3
    assert held.ranked == pytest.approx([0.2, 0.449, 0.25])


def test_what_was_replaced_gets_a_sentence(held):
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    older = send(held, 0.3, tab="slider")
    until(lambda: held.queue.waiting == 1, "it waits")
    newer = send(held, 0.4, tab="slider")
    said = b""
    while not said.endswith(b"}"):
        said += older.recv(65536)
    assert said.endswith(b'{"error":"replaced by a newer request from the same tab."}')
    held.gate.set()
    assert [status(first), status(newer)] == [200, 200]


def test_visitors_take_turns_however_often_one_asks(held):
    """A program whose thirty requests are all waited for is one visitor; the page's tab is another."""
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    program = [send(held, 0.3 + number / 1000) for number in range(30)]
    until(lambda: held.queue.waiting == 30, "all wait")
    other = send(held, 0.25, tab="page")
    until(lambda: held.queue.waiting == 31, "and the page")
    held.gate.set()
    assert [status(each) for each in (other, first, *program)] == [200] * 32
    assert held.ranked.index(0.25) <= 2


def test_a_full_line_is_said_and_the_longest_queue_gets_shorter(held):
    held.queue.most = 3
    first = send(held, 0.2)
    until(lambda: held.ranked == [0.2], "the first is computed")
    program = [send(held, 0.3 + number / 1000) for number in range(3)]
    until(lambda: held.queue.waiting == 3, "the line is full")
    refused = httpx.get(f"{held.address}/api/view", params={"method": "is", "tau": 0.4})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert refused.json() == {"error": "the server is busy; try again in a moment."}
    other = send(held, 0.25, tab="page")
    assert sorted(status(each) for each in program[2:]) == [503], "the page has a place of the program's"
    held.gate.set()
    assert [status(each) for each in (first, *program[:2], other)] == [200] * 4


def test_made_up_tabs_do_not_shut_out_who_was_here_before(held):
    held.gate.set()
    assert status(send(held, 0.15, tab="page")) == 200
    held.gate.clear()
    held.queue.most = 20
    first = send(held, 0.2, tab="made up")
    until(lambda: held.ranked == [0.15, 0.2], "the first is computed")
    others = [send(held, 0.3 + number / 1000, tab=f"made up {number}") for number in range(20)]
    until(lambda: held.queue.waiting == 20, "the line is full")
    page = send(held, 0.25, tab="page")
    until(lambda: held.queue.waiting == 20 and ("127.0.0.1", "page") in held.queue._waiting, "the page has a place")
    held.gate.set()
    assert status(page) == 200
    assert held.ranked.index(0.25) <= 3
    assert sorted(status(each) for each in (first, *others)) == [200] * 20 + [503]


def test_lists_and_files_are_served_while_rankings_wait(held):
    waiting = [send(held, 0.2 + number / 1000) for number in range(50)]
    until(lambda: held.queue.waiting == 49, "one is at work")
    for path in (
        "/",
        "/static/main.js",
        "/api/about",
        "/api/targets",
        "/api/queries?words=12",
        "/api/media/targets/10",
    ):
        assert httpx.get(held.address + path, timeout=60).status_code == 200, path
    held.gate.set()
    assert [status(each) for each in waiting] == [200] * 50


async def large(scope, receive, send):
    """An app whose answers are larger than what lies between two processes."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (24 << 20))]})
    for _ in range(24):
        await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_whoever_does_not_read_keeps_nobody_waiting_and_is_cut_off():
    with running(RequestQueue(large), ConnectionLimits(seconds=0.5)) as (port, server):
        idle = SimpleNamespace(port=port)
        slow = [send(idle, 0.1) for _ in range(5)]
        with httpx.stream("GET", f"http://127.0.0.1:{port}/api/view") as answer:
            assert sum(map(len, answer.iter_bytes())) == 24 << 20
        until(lambda: not server.server_state.connections, "those who do not read are cut off")
        for each in slow:
            each.close()


def test_whoever_reads_slowly_gets_all_of_it():
    with running(RequestQueue(large), ConnectionLimits(seconds=0.2)) as (port, _):
        raw, read = send(SimpleNamespace(port=port), 0.1), 0
        while read < 24 << 20:
            part = raw.recv(1 << 20)
            assert part, read
            read += len(part)
            time.sleep(0.01)
