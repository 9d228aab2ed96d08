"""Who is let in, what is sent, and how mistakes are answered: on the wire, with a real server."""

import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from PIL import Image

from unhub.foundation.errors import InputError
from unhub.webapp.security import MOST_BYTES, AccessPolicy, host_name, is_loopback
from unhub.webapp.server import bind, token_for

from .conftest import serving, world


def test_only_its_own_names_are_answered(server):
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "",
        "a b",
        "[::1",
        "localhost:x",
    ):
        answer = httpx.get(f"{server}/", headers={"host": host})
        assert answer.status_code in (400, 421), host
    port = urlsplit(server).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "LOCALHOST", f"[::1]:{port}"):
        assert httpx.get(f"{server}/api/about", headers={"host": host}).status_code == 200, host


def test_another_sites_page_gets_nothing(server):
    asked = httpx.get(f"{server}/api/about", headers={"origin": "https://evil.example"})
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers
    assert httpx.get(f"{server}/api/about", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    preflight = httpx.options(
        f"{server}/api/compare", headers={"origin": server, "access-control-request-method": "POST"}
    )
    assert not [name for name in preflight.headers if name.startswith("access-control")]
    assert httpx.get(f"{server}/api/about", headers={"origin": server}).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "null", "http://localhost:1", "https://evil.example", "", "\xff"])
def test_origins_that_are_not_its_own(server, origin):
    port = urlsplit(server).port
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        head = f"GET /api/about HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
        raw.sendall(head.encode("latin-1"))
        said = b"".join(iter(lambda: raw.recv(65536), b""))
    assert int(said.split()[1]) == 403
    assert b'{"error":' in said


def test_no_websockets_and_no_endless_heads(server):
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    assert httpx.get(f"{server}/api/about", headers=upgrade).status_code < 500
    try:
        status = httpx.get(f"{server}/api/about", headers={"x-long": "x" * 70_000}).status_code
    except httpx.TransportError:  # closed while the head was still being sent: a reset can overtake the answer
        status = 431
    assert status in (400, 431)
    assert httpx.get(f"{server}/api/about").status_code == 200


def test_headers_keep_the_browser_at_home(server):
    for path in ("/", "/api/about", "/static/main.js", "/nowhere"):
        headers = httpx.get(server + path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_it_listens_on_loopback_alone(server):
    host, port = urlsplit(server).hostname, urlsplit(server).port
    assert host == "127.0.0.1"
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("no /proc/net/tcp to see who listens where")
    local = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert [each for each in local if each.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def test_another_host_needs_the_token(experiment, cache):
    token = "a-token-nobody-guesses"
    words = (experiment, "--host", "0.0.0.0", "--port", 0, "--token", token)
    with serving(*words, cwd=experiment.parent, cache=cache) as address:
        assert address.endswith(f"?token={token}")
        root = address.partition("?")[0].rstrip("/")
        for path in ("/", "/api/about", "/static/main.js", "/openapi.json", "/docs", "/api/media/targets/10"):
            answer = httpx.get(root + path)
            assert answer.status_code == 401, path
            assert "token" in answer.json()["error"]
        assert httpx.get(f"{root}/?token=wrong").status_code == 401
        assert httpx.get(f"{root}/api/about?token={token}").status_code == 401, "a token in an address is for the page"
        assert httpx.get(f"{root}/api/about", headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert httpx.get(f"{root}/api/about", headers={"authorization": f"Bearer {token}x"}).status_code == 401
        for other in ('x={"j":1}; ', "caf\xe9=1; ", "=; ;; a; "):
            cookie = f"{other}unhub_token={token}".encode("latin-1")
            assert httpx.get(f"{root}/api/about", headers={b"cookie": cookie}).status_code == 200, other
        with httpx.Client(follow_redirects=True) as client:
            opened = client.get(f"{root}/?k=5&token={token}")
            assert str(opened.url) == f"{root}/?k=5"
            assert client.get(f"{root}/api/about").status_code == 200
            cookie = opened.history[0].headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=lax" in cookie


def test_without_a_token_one_is_made_up(experiment, cache):
    with serving(experiment, "--host", "0.0.0.0", "--port", 0, cwd=experiment.parent, cache=cache) as address:
        made = address.partition("?token=")[2]
        assert len(made) >= 24
        assert httpx.get(address.partition("?")[0]).status_code == 401


def test_tokens_and_hosts():
    assert token_for("127.0.0.1", None) is None
    assert token_for("192.168.1.5", None) != token_for("192.168.1.5", None)
    with pytest.raises(InputError, match="token has 3 characters; use at least 12"):
        token_for("0.0.0.0", "abc")
    with pytest.raises(InputError, match="a character that a URL may not hold"):
        token_for("0.0.0.0", "abc&def+ghi#jklm")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("evil.example")
    outside = AccessPolicy.of("0.0.0.0", "t" * 20)
    assert outside.allows_host("192.168.1.5:8765")
    assert not outside.allows_host("evil.example:8765")
    assert [host_name(each) for each in ("user@localhost", "localhost#evil", "a" * 300)] == [None] * 3


def test_a_port_that_is_taken_is_said():
    said = r"cannot listen at 127.0.0.1:\d+: .*; choose another port or host"
    with bind("127.0.0.1", 0) as first, pytest.raises(InputError, match=said):
        bind("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%2e%2e%2f%2e%2e%2fcli/serve.py",
        "/static//etc/passwd", "/static/....//app.py", "/api/media/targets/..%2f..%2fsecret.png",
        "/api/media/..%2f/1", "/docs-static/../core.py", "/api/media/targets/%00",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(server, path):
    port = urlsplit(server).port
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:  # clients tidy such paths up; this does not
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        said = b"".join(iter(lambda: raw.recv(65536), b""))
    assert int(said.split()[1]) in (400, 404, 422), said[:200]
    assert b"import" not in said
    assert b"root:" not in said


def test_a_picture_that_is_damaged_is_said(server, experiment):
    path = experiment.parent / "media" / "item119.png"
    whole = path.read_bytes()
    path.write_bytes(b"no picture at all")
    answer = httpx.get(f"{server}/api/media/targets/119", params={"size": 64})
    path.write_bytes(whole)
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "this picture cannot be read; the file is damaged or too large.",
    )


def test_a_file_is_read_as_a_picture_or_not_at_all(server, experiment):
    """PostScript under the name of a picture would be run by a program; a bomb of pixels would fill the memory."""
    path = experiment.parent / "media" / "item117.png"
    whole = path.read_bytes()
    Image.new("RGB", (8, 8), "red").save(path, "EPS")
    bombs = [path.read_bytes()]
    Image.new("1", (9000, 9000)).save(path, "PNG")
    bombs.append(path.read_bytes())
    found = []
    for each in bombs:
        path.write_bytes(each)
        found.append(httpx.get(f"{server}/api/media/targets/117", params={"size": 64}).status_code)
    path.write_bytes(whole)
    assert found == [400, 400]


def test_a_file_that_becomes_a_link_later_is_not_sent(server, experiment):
    path = experiment.parent / "media" / "item118.png"
    whole = path.read_bytes()
    path.unlink()
    path.symlink_to("/etc/hostname")
    answers = [httpx.get(f"{server}/api/media/targets/118", params=each).status_code for each in ({}, {"size": 64})]
    path.unlink()
    path.write_bytes(whole)
    assert answers == [404, 404]


def test_media_come_from_the_experiments_folder_alone(server):
    def ask(row, **more):
        return httpx.get(f"{server}/api/media/targets/{row}", params=more)

    whole, small = ask(10), ask(10, size=64)
    assert whole.headers["content-type"] == "image/png"
    assert small.headers["content-type"] == "image/webp"
    assert len(small.content) < len(whole.content)
    assert ask(1).headers["content-type"] == "audio/wav"
    part = httpx.get(f"{server}/api/media/targets/1", headers={"range": "bytes=0-99"})
    assert (part.status_code, len(part.content)) == (206, 100)
    for row, why in ((0, "has none"), (2, "is a link out"), (4, "lies in a linked folder"), (5, "is an SVG")):
        assert ask(row).status_code == 404, why
        assert ask(row, size=64).status_code == 404, why
    assert ask(10, size=100_000).status_code == 422
    assert ask(9999).json()["error"] == "there is no item 9999; rows run from 0 to 119."


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/api/view?tau=-1", 422, "tau: input should be greater than 0."),
        ("/api/view?tau=nan", 422, "tau: input should be a finite number."),
        ("/api/view?tau=abc", 422, "tau: input should be a valid number"),
        ("/api/view?strength=9", 400, "Strength is 9.0; give a number from 0 (no correction) to 4 (1 is the bias"),
        ("/api/view?strength=nan", 400, "Strength is nan; give a number from 0 (no correction) to 4 (1 is the bias"),
        ("/api/view?k=4", 400, "k is 4; choose one of 1, 3, 5, 10, 20."),
        ("/api/view?method=dbns", 400, "Method is 'dbns'; with this bank there are none, is,"),
        ("/api/view?bank=x", 400, "Bank is 'x'; there are val, test queries."),
        ("/api/view?direction=x", 400, "Direction is 'x'; use t2i or i2t."),
        ("/api/view?method=nnn&tau=.1", 400, "Temperature τ is 0.1, but nnn has no temperature; leave it out."),
        ("/api/view?tua=1", 422, "tua: extra inputs are not permitted."),
        ("/api/hub/120", 404, "there is no target 120; rows run from 0 to 119."),
        ("/api/hub/-1", 422, "target: input should be greater than or equal to 0."),
        ("/api/compare/999999", 404, "there is no query 999999; rows run from 0 to 239."),
        ("/api/nothing", 404, "nothing at this URL."),
        ("/api/map?bank=x", 400, "Bank is 'x'; there are val, test queries."),
    ],
)
def test_mistakes_get_a_sentence(server, path, status, sentence):
    answer = httpx.get(server + path)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)
    assert list(answer.json()) == ["error"]


def test_methods_that_change_things_are_refused(server):
    for method in ("PUT", "DELETE", "PATCH", "POST"):
        answer = httpx.request(method, f"{server}/api/about")
        assert (answer.status_code, answer.json()["error"]) == (405, "this URL does not accept that HTTP method.")


def test_bodies_are_bounded(server):
    large = httpx.post(f"{server}/api/compare", content=b"x" * (MOST_BYTES + 1))
    assert (large.status_code, large.json()["error"]) == (413, "request bodies are limited to 65,536 bytes.")

    def pieces():
        for _ in range(80):
            yield b" " * 1024

    unsaid = httpx.post(f"{server}/api/compare", content=pieces(), headers={"content-type": "application/json"})
    assert unsaid.status_code == 413, "without a length in its head"
    long = httpx.post(f"{server}/api/compare", json={"text": "x" * 501})
    assert long.status_code == 422
    for body in (b"", b"{", b"[]", b"null", b'{"text": 3}', b'{"text": "' + b"\xff" + b'"}'):
        answer = httpx.post(f"{server}/api/compare", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), body
        assert "error" in answer.json()


def test_words_need_an_encoder(server):
    answer = httpx.post(f"{server}/api/compare", json={"text": "a dog"})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("typed queries need an encoder; add --encoder")


def test_a_hundred_clients_at_once(tmp_path, cache):
    """5,000 x 1,000 scores, each client with a setting of its own and what a page asks for."""
    path = world(tmp_path, targets=1000, queries=5000, bank=1000, media=False)
    with serving(path, "--port", 0, cwd=tmp_path, cache=cache) as address:
        start = threading.Barrier(100)

        def visit(number):
            method = ("is", "sn", "dbsn", "nnn", "none")[number % 5]
            bank = "val" if method == "dbsn" else ("val", "test queries")[number % 2]
            setting = {"method": method, "bank": bank, "strength": 0.5 + number / 100, "k": (1, 5, 10)[number % 3]}
            if method in ("is", "sn", "dbsn"):
                setting["tau"] = 0.05 + number / 1000  # nobody asks for the same, so that nothing is remembered
            start.wait()
            with httpx.Client(base_url=address, timeout=600) as client:
                asked = [
                    client.get("/"),
                    client.get("/static/main.js"),
                    client.get("/api/view", params=setting),
                    client.get(f"/api/hub/{number}", params=setting),
                    client.get(f"/api/compare/{number}", params=setting),
                    client.get("/api/changes", params=setting),
                    client.get("/api/targets"),
                ]
            return [each.status_code for each in asked]

        with ThreadPoolExecutor(100) as clients:
            assert list(clients.map(visit, range(100))) == [[200] * 7] * 100


def test_it_ends_at_once_also_while_it_is_busy(tmp_path, cache):
    path = world(tmp_path, targets=600, queries=3000, bank=800, media=False)

    def ask(address, number):
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(f"{address}api/view", params={"method": "dbsn", "tau": 0.02 + number / 1000}, timeout=60)

    asking = []
    with serving(path, "--port", 0, cwd=tmp_path, cache=cache) as address:
        asking += [threading.Thread(target=ask, args=(address, number)) for number in range(30)]
        for each in asking:
            each.start()
        httpx.get(f"{address}api/about", timeout=60)
    for each in asking:
        each.join(60)
        assert not each.is_alive()
