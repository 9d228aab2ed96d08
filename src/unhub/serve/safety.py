"""Who may ask: only this machine, or whoever has the token; no other site's page; nothing too large.

Pure functions of a request's head, and one small ASGI layer that applies them before anything else runs.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from unhub.serve.problems import problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "unhub_token"
MOST_BYTES = 64 * 1024
"""of the body of a request"""
LARGEST_HEAD = 32 * 1024
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DOCS = "/docs"
DOCS_POLICY = POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'").replace(
    "style-src 'self'", "style-src 'self' 'unsafe-inline'"
)
"""the page about the API starts with a script of its own"""
HOST = re.compile(r"[A-Za-z0-9.:_\[\]-]{1,255}")
"""letters of a name and its port"""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Guard:
    """What is let in: names in the Host header, and the token where one is needed."""

    host: str
    token: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, host: str, token: str | None) -> Guard:
        """The guard of a server that listens at a host."""
        names = {*LOOPBACK, host.lower().strip("[]")}
        if not is_loopback(host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return cls(host, token, frozenset(names))

    def knows(self, header: str) -> bool:
        """Whether a Host header names this server; a name that somebody else's DNS points here does not.

        Where others may come in, any address in numbers is fine: no name was resolved to reach it.
        """
        name = host_name(header)
        if name is None:
            return False
        return name in self.names or (not is_loopback(self.host) and _is_address(name))

    def admits(self, headers: dict[str, str]) -> bool:
        """Whether a request brings the token, in its cookie or as a bearer."""
        if self.token is None:
            return True
        return any(
            hmac.compare_digest(each.encode(), self.token.encode())
            for each in (_bearer(headers.get("authorization", "")), _cookie(headers.get("cookie", "")))
            if each
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str | None:
    """The name in a Host header, without its port; None where it is not one.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("evil.example/@localhost")
    ('localhost', '::1', None)
    """
    if not HOST.fullmatch(header):
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # a port that is no number is an error
    except ValueError:
        return None
    return parts.hostname


class Door:
    """The ASGI layer: checks before anything else runs, and headers on everything that goes out."""

    def __init__(self, app: App, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through, or answers it with a sentence."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _with_headers(send, scope["path"])
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Any:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            return problem(431, f"the head of a request may have {LARGEST_HEAD:,} bytes at the most.")
        if not self.guard.knows(headers.get("host", "")):
            return problem(421, "this server is not called that; open it by the address that it printed.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers["host"].lower():
            return problem(403, "another site's page asked for this, which is refused.")
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return problem(403, "another site's page asked for this, which is refused.")
        entry = self._entry(scope)
        if entry is not None:
            return entry
        if not self.guard.admits(headers):
            return problem(401, "a token is needed; open the address with ?token=... that the server printed.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return problem(413, f"a request may have {MOST_BYTES:,} bytes at the most.")
        return None

    def _entry(self, scope: Scope) -> Any:
        """With ?token=... the page is opened: the token moves into a cookie and out of the address bar."""
        if self.guard.token is None or scope["path"] != "/":
            return None
        said = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        brought = [value for name, value in said if name == "token"]
        if not brought or not hmac.compare_digest(brought[0].encode(), self.guard.token.encode()):
            return None
        from starlette.responses import RedirectResponse

        rest = urlencode([(name, value) for name, value in said if name != "token"])
        moved = RedirectResponse(f"/?{rest}" if rest else "/", status_code=303)
        moved.set_cookie(COOKIE, self.guard.token, httponly=True, samesite="lax")
        return moved


def _with_headers(send: Send, path: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            extra = HEADERS | {"content-security-policy": DOCS_POLICY if path == DOCS else POLICY}
            extra |= {"cache-control": "no-store" if path.startswith("/api/") else "no-cache"}
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in extra.items() if name.encode() not in present),
            ]
        await send(message)

    return sending


def _bearer(header: str) -> str:
    kind, _, value = header.partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _cookie(header: str) -> str:
    """The token of a Cookie header, whatever other cookies, which all ports of a host share, look like."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value.strip('"')
    return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
