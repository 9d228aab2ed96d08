"""The ASGI layer before the API: a request waits for its turn here, without a thread, and leaves when its client does.

A ranking takes all cores, so one is computed at a time. Whoever closes the tab or moves the slider on leaves the line
before anything is computed; a computation that has begun asks between its steps whether its client is still there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from unhub.explore.stage import Wanted, always
from unhub.serve.line import Line, Visitor
from unhub.serve.problems import problem
from unhub.serve.safety import MOST_BYTES, App, Message, Receive, Scope, Send

TAB, QUESTION = b"x-unhub-tab", b"x-unhub-question"
"""headers of the page: which tab asks, and what for; a newer question of the same name replaces an older one"""
WANTED = "unhub.wanted"
"""where a request's scope says whether its client still waits"""
RETRY = 2
"""seconds after which a client that found the line full should try again"""
NEWER = "a newer question from the same tab took the place of this one."
FULL = "many requests are waiting already; try again in a moment."


@dataclass(frozen=True)
class Room:
    """How many requests of a kind are worked on at once, and how many wait for that at most."""

    at_once: int
    waiting: int


ROOM = {
    "rankings": Room(1, 200),  # at a tenth of a second each the last one waits 20 s, which is long enough
    "pictures": Room(2, 1000),  # a large one takes memory while it is decoded
    "lists": Room(4, 1000),
}
LINES = {"view": "rankings", "hub": "rankings", "changes": "rankings", "compare": "rankings", "media": "pictures"}
"""the line of an address below /api/; all others are lists"""


class Turns:
    """Lets requests to the API through in turn, as many at once as their line allows."""

    def __init__(self, app: App, room: dict[str, Room] | None = None) -> None:
        self.app = app
        self.lines = {name: Line(each.at_once, each.waiting) for name, each in (room or ROOM).items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Waits for the turn of a request, and computes its answer unless nobody waits for it."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        body = await _whole_body(receive)
        if body is None:
            return
        if len(body) > MOST_BYTES:
            await problem(413, f"a request may have {MOST_BYTES:,} bytes at the most.")(scope, receive, send)
            return
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await self._in_turn(scope, body, gone, send)
        finally:
            gone.cancel()

    async def _in_turn(self, scope: Scope, body: bytes, gone: asyncio.Task[None], send: Send) -> None:
        place = self.lines[LINES.get(scope["path"].split("/")[2], "lists")].join(*_asked_by(scope))
        receive = _again(body, gone)
        try:
            await asyncio.wait((place.turn, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            turn = place.turn.result()
            if turn == "go":
                waited = {**scope, WANTED: lambda: not gone.done()}
                await self.app(waited, receive, _leaving_at_start(send, place.leave))
            elif turn == "newer":
                await problem(409, NEWER)(scope, receive, send)
            else:
                await problem(503, FULL, {"retry-after": str(RETRY)})(scope, receive, send)
        finally:
            place.leave()


def wanted_of(scope: Scope) -> Wanted:
    """Whether the client of a request still waits, as a question that can be asked again and again."""
    found: Wanted = scope.get(WANTED, always)
    return found


def _asked_by(scope: Scope) -> tuple[Visitor, str | None]:
    """Who asks, and the question's name. Programs send no tab: those of one address are one visitor."""
    headers, address = dict(scope["headers"]), (scope.get("client") or ("",))[0]
    if TAB not in headers:
        return (address, None), None
    return (address, headers[TAB].decode("latin-1")), headers.get(QUESTION, scope["path"].encode()).decode("latin-1")


async def _whole_body(receive: Receive) -> bytes | None:
    """The body, as far as it is not too large; None where the client left before its end."""
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
    """Ends when the client leaves, or has its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _again(body: bytes, gone: asyncio.Task[None]) -> Receive:
    """Gives the app the body that was read, and after that the disconnection."""
    unread = [body]

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        await asyncio.wait((gone,))
        return {"type": "http.disconnect"}

    return receive


def _leaving_at_start(send: Send, leave: Callable[[], None]) -> Send:
    """Once an answer begins to go out it is computed: whoever reads it slowly keeps nobody waiting."""

    async def sending(message: Message) -> None:
        leave()
        await send(message)

    return sending
