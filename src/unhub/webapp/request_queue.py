"""ASGI middleware that queues API requests without holding a thread, and drops those whose client has gone.

A ranking uses all cores, so one runs at a time. Closing the tab or moving the slider removes a queued request before
anything is computed; a running computation checks between its steps whether its client is still connected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from unhub.analysis.session import Wanted, always
from unhub.webapp.errors import error_response
from unhub.webapp.fair_scheduler import Client, FairScheduler
from unhub.webapp.security import MOST_BYTES, App, Message, Receive, Scope, Send

TAB, REQUEST = b"x-unhub-tab", b"x-unhub-request"
"""headers that the page sends: its tab, and the name of the request, which replaces an older one of that name"""
WANTED = "unhub.wanted"
"""key in a request's scope: a function that says whether the client is still connected"""
RETRY = 2
"""seconds after which a client should retry when the queue is full"""
NEWER = "replaced by a newer request from the same tab."
FULL = "the server is busy; try again in a moment."


@dataclass(frozen=True)
class Capacity:
    """How many requests of a kind may run at once, and how many may wait."""

    at_once: int
    waiting: int


CAPACITIES = {
    "rankings": Capacity(1, 200),  # at 0.1 s each, the last one waits 20 s
    "pictures": Capacity(2, 1000),  # decoding a large one takes memory
    "lists": Capacity(4, 1000),
}
QUEUES = {"view": "rankings", "hub": "rankings", "changes": "rankings", "compare": "rankings", "media": "pictures"}
"""first part of the path after /api/ -> its queue; all others are lists"""


class RequestQueue:
    """Runs API requests in turn, as many at once as their queue allows."""

    def __init__(self, app: App, capacities: dict[str, Capacity] | None = None) -> None:
        self.app = app
        self.queues = {
            name: FairScheduler(each.at_once, each.waiting) for name, each in (capacities or CAPACITIES).items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for the request's turn, and compute the response unless the client has gone."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        body = await _whole_body(receive)
        if body is None:
            return
        if len(body) > MOST_BYTES:
            await error_response(413, f"request bodies are limited to {MOST_BYTES:,} bytes.")(scope, receive, send)
            return
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await self._in_turn(scope, body, gone, send)
        finally:
            gone.cancel()

    async def _in_turn(self, scope: Scope, body: bytes, gone: asyncio.Task[None], send: Send) -> None:
        ticket = self.queues[QUEUES.get(scope["path"].split("/")[2], "lists")].join(*_client_of(scope))
        receive = _replay(body, gone)
        try:
            await asyncio.wait((ticket.turn, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            turn = ticket.turn.result()
            if turn == "go":
                connected = {**scope, WANTED: lambda: not gone.done()}
                await self.app(connected, receive, _release_at_start(send, ticket.release))
            elif turn == "newer":
                await error_response(409, NEWER)(scope, receive, send)
            else:
                await error_response(503, FULL, {"retry-after": str(RETRY)})(scope, receive, send)
        finally:
            ticket.release()


def still_wanted(scope: Scope) -> Wanted:
    """A function that says whether the client of a request is still connected."""
    check: Wanted = scope.get(WANTED, always)
    return check


def _client_of(scope: Scope) -> tuple[Client, str | None]:
    """The client and the request's name. Programs send no tab: those at one IP address are one client."""
    headers, address = dict(scope["headers"]), (scope.get("client") or ("",))[0]
    if TAB not in headers:
        return (address, None), None
    return (address, headers[TAB].decode("latin-1")), headers.get(REQUEST, scope["path"].encode()).decode("latin-1")


async def _whole_body(receive: Receive) -> bytes | None:
    """The body, cut where it is too large; None if the client left before its end."""
    body = b""
    while len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


async def _disconnected(receive: Receive) -> None:
    """Return when the client disconnects or has its response."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(body: bytes, gone: asyncio.Task[None]) -> Receive:
    """Give the app the body that was read, then the disconnection."""
    unread = [body]

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        await asyncio.wait((gone,))
        return {"type": "http.disconnect"}

    return receive


def _release_at_start(send: Send, release: Callable[[], None]) -> Send:
    """Free the slot once the response starts: a slow reader holds up nobody."""

    async def sending(message: Message) -> None:
        release()
        await send(message)

    return sending
