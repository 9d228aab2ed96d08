"""Requests that nobody finishes and requests that nobody waits for, against the real server.

Another visitor is answered while heads stay half sent and after many visitors have left. The server ends in order.
"""

from __future__ import annotations

import contextlib
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from attack import warm
from attack.ledger import Budget, Ledger

PATIENCE = 60.0
"""seconds after which another visitor counts as locked out"""

HALF_SENT, ABANDONED, MALFORMED = 60, 40, 30
"""how many the quick attack sends"""
MOST_OPEN = 1005
"""half-sent heads at once: more than the 1,024 files that a process may have open here leave room for"""

DEPTHS = (1, 3, 5, 10, 20)
"""k that the page offers; another one is refused before any work"""

LINES = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"GET /api/view HTTP/1.1\r\n",
    b"G",
    b"POST /api/compare HTT",
)


def attack(budget: Budget, only: str | None = None) -> Ledger:
    """Starts a server and sends it what a server should not be sent."""
    warm.imported()
    from webapp.conftest import serving, world

    ledger, rng = Ledger("web"), random.Random(budget.seed)
    with tempfile.TemporaryDirectory() as root:
        size = 120 if budget.scale == 1 else 3000
        experiment = world(Path(root), targets=size, queries=2 * size, bank=size, media=False)
        try:
            with serving(experiment, "--port", 0, cwd=experiment.parent, cache=Path(root)) as address:
                site = Site(address, ledger)
                site.visit("a first visit")
                site.half_sent(min(MOST_OPEN, HALF_SENT * budget.scale), rng)
                for _ in range(max(1, budget.scale // 10)):
                    site.abandoned(min(ABANDONED * budget.scale, 400), rng)
                site.malformed(MALFORMED * budget.scale, rng)
                site.visit("a last visit")
        except AssertionError as error:
            ledger.note("traceback", "ending the server", str(error))
    return ledger


class Site:
    """The server, as its visitors meet it."""

    def __init__(self, address: str, ledger: Ledger) -> None:
        parts = urlsplit(address)
        self.place, self.ledger = (parts.hostname or "", parts.port or 0), ledger
        self.host = f"{self.place[0]}:{self.place[1]}"

    def visit(self, case: str, path: str = "/api/about") -> None:
        """Counts whether one visitor gets an answer."""
        try:
            status = self.ask(self.request(path))
        except OSError as error:
            self.ledger.note("hang", case, f"{type(error).__name__}: {error}")
            return
        self.ledger.note("answered" if status == 200 else "bug", case, f"status {status}")

    def request(self, path: str) -> bytes:
        """A whole request for a path."""
        return f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode()

    def ask(self, data: bytes) -> int:
        """The status of the answer to some bytes; 0 if the server closed the connection without one."""
        with socket.create_connection(self.place, timeout=PATIENCE) as line:
            line.sendall(data)
            with contextlib.suppress(ConnectionError):
                answer = line.recv(64)
                return int(answer.split()[1]) if answer.startswith(b"HTTP/") else 0
        return 0

    @contextlib.contextmanager
    def lines(self, count: int) -> Iterator[list[socket.socket]]:
        """Connections, as many as the server takes, closed in the end."""
        with contextlib.ExitStack() as stack:
            opened = []
            for _ in range(count):
                try:
                    opened.append(stack.enter_context(socket.create_connection(self.place, timeout=5)))
                except OSError:
                    break
            yield opened

    def half_sent(self, count: int, rng: random.Random) -> None:
        """Sends beginnings of requests, keeps them open, and visits."""
        with self.lines(count) as opened:
            for line in opened:
                with contextlib.suppress(OSError):
                    line.sendall(rng.choice(LINES))
                self.ledger.counts["unchanged"] += 1
            self.visit(f"a visit beside {len(opened)} half-sent heads")
        self.visit(f"a visit after {len(opened)} half-sent heads")

    def abandoned(self, count: int, rng: random.Random) -> None:
        """Asks for views that take work, leaves at once, and visits."""
        for _ in range(count):
            tau, k = rng.uniform(0.01, 0.5), rng.choice(DEPTHS)
            path = f"/api/view?method=sn&tau={tau:.5f}&k={k}"
            with contextlib.suppress(OSError), socket.create_connection(self.place, timeout=PATIENCE) as line:
                line.sendall(self.request(path))
                time.sleep(0.001)
            self.ledger.counts["unchanged"] += 1
        self.visit(f"a view after {count} abandoned ones", "/api/view")

    def malformed(self, count: int, rng: random.Random) -> None:
        """Sends requests that are none, or not to be answered; never an error of the server's own."""
        for number in range(count):
            name, data = self._bad(rng)
            try:
                status = self.ask(data)
            except OSError as error:
                self.ledger.note("hang", f"{name}, number {number}", str(error))
                continue
            self.ledger.note("bug" if status >= 500 else "refused" if status != 200 else "answered", name, str(status))

    def _bad(self, rng: random.Random) -> tuple[str, bytes]:
        end = f"\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode()
        path = rng.choice(("/api/view", "/api/compare", "/api/map", "/api/hub", "/media/0", "/static/main.js"))
        value = rng.choice(("-1", "1e999", "nan", "9" * 400, "%00", "%1b[31m", "..%2f..%2fetc%2fpasswd", "", "'\"<x>"))
        field = rng.choice(("tau", "k", "method", "query", "target", "strength", "bank", "direction", "item"))
        return rng.choice(
            (
                ("noise", rng.randbytes(rng.randrange(1, 3000)) + b"\r\n\r\n"),
                ("an odd value", f"GET {path}?{field}={value} HTTP/1.1".encode() + end),
                ("a path outside", f"GET /static/../../../etc/{value} HTTP/1.1".encode() + end),
                ("a long head", b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000 + end),
                ("a wrong host", b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
                ("a length that lies", b"POST /api/compare HTTP/1.1\r\nContent-Length: -5" + end),
                ("a body of noise", b"POST /api/compare HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9"
                 + end + rng.randbytes(9)),
            )
        )  # fmt: skip
