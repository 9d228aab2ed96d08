"""Access policy and security middleware: Host, Origin, token and size checks, and security headers.

The checks are pure functions of a request's headers; one small ASGI middleware applies them first.
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

from unhub.webapp.errors import error_response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "unhub_token"
MOST_BYTES = 64 * 1024
"""largest request body"""
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
"""the API documentation page has an inline script"""
HOST = re.compile(r"[A-Za-z0-9.:_\[\]-]{1,255}")
"""a host name and its port"""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class AccessPolicy:
    """Which requests are accepted: names allowed in the Host header, and the token where one is required."""

    host: str
    token: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, host: str, token: str | None) -> AccessPolicy:
        """The policy of a server that binds to a host."""
        names = {*LOOPBACK, host.lower().strip("[]")}
        if not is_loopback(host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return cls(host, token, frozenset(names))

    def allows_host(self, header: str) -> bool:
        """Whether a Host header names this server, which stops DNS rebinding.

        A server that is open to the network also accepts any IP address: no name was resolved to reach it.
        """
        name = host_name(header)
        if name is None:
            return False
        return name in self.names or (not is_loopback(self.host) and _is_ip_address(name))

    def allows_token(self, headers: dict[str, str]) -> bool:
        """Whether a request carries the token, as a cookie or a bearer token."""
        if self.token is None:
            return True
        return any(
            hmac.compare_digest(each.encode(), self.token.encode())
            for each in (_bearer(headers.get("authorization", "")), _cookie(headers.get("cookie", "")))
            if each
        )


def is_loopback(host: str) -> bool:
    """Whether a host is the loopback interface.

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
    """The name in a Host header without its port; None if the header is malformed.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("evil.example/@localhost")
    ('localhost', '::1', None)
    """
    if not HOST.fullmatch(header):
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts.hostname


class SecurityMiddleware:
    """ASGI middleware: checks every request first, and adds security headers to every response."""

    def __init__(self, app: App, policy: AccessPolicy) -> None:
        self.app, self.policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a sentence."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = _with_headers(send, scope["path"])
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Any:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            return error_response(431, f"request headers are limited to {LARGEST_HEAD:,} bytes.")
        if not self.policy.allows_host(headers.get("host", "")):
            return error_response(421, "unrecognised Host header; open the URL that was printed.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers["host"].lower():
            return error_response(403, "refused: the request came from another site.")
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return error_response(403, "refused: the request came from another site.")
        redirect = self._login(scope)
        if redirect is not None:
            return redirect
        if not self.policy.allows_token(headers):
            return error_response(401, "a token is required; open the URL with ?token=... that was printed.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return error_response(413, f"request bodies are limited to {MOST_BYTES:,} bytes.")
        return None

    def _login(self, scope: Scope) -> Any:
        """The redirect that moves ?token=... out of the address bar and into a cookie."""
        if self.policy.token is None or scope["path"] != "/":
            return None
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens or not hmac.compare_digest(tokens[0].encode(), self.policy.token.encode()):
            return None
        from starlette.responses import RedirectResponse

        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        response = RedirectResponse(f"/?{rest}" if rest else "/", status_code=303)
        response.set_cookie(COOKIE, self.policy.token, httponly=True, samesite="lax")
        return response


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
    """The token in a Cookie header; other cookies, which all ports of a host share, may be malformed."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value.strip('"')
    return ""


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
