"""Connections that cannot be held open: a time limit for heads, bodies and reading, and room for newcomers.

uvicorn limits the idle time between requests alone, and each byte begins that anew. Here a connection that waits for
its client (for the rest of a request, or for the client to read an answer) is closed after some seconds; and when
there are too many connections, the one that has waited longest makes room for a new one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from unhub.serve.safety import LARGEST_HEAD

MOST_CONNECTIONS = 1000
"""at the same time; browsers open six for a page"""
OTHER_FILES = 300
"""files that a process may need besides its connections, those included that are accepted before others are closed"""
SECONDS = 10.0
"""in which a head and its body have to arrive, or an answer has to be read a little further"""


def most_connections() -> int:
    """Connections that this process may have open: fewer where it may have few files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(soft - OTHER_FILES, soft // 2))


@dataclass(eq=False)
class Clients:
    """What the connections of a server share: their limits, and those that wait for their clients, longest first."""

    most: int = field(default_factory=most_connections)
    seconds: float = SECONDS
    awaited: dict[Connection, None] = field(default_factory=dict)

    def connection(self, **given: Any) -> Connection:
        """What uvicorn makes for each client."""
        return Connection(self, **given)


class Connection(H11Protocol):
    """One connection of uvicorn's, with limits."""

    def __init__(self, clients: Clients, **given: Any) -> None:
        super().__init__(**given)
        self.clients = clients
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Makes room where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.clients.most and self.clients.awaited:
            next(iter(self.clients.awaited))._cut()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Takes it off the list."""
        super().connection_lost(exc)
        self._stop()

    def data_received(self, data: bytes) -> None:
        """Reads on also behind a request that is being answered, so that it is noticed when the client leaves."""
        super().data_received(data)
        if self.flow.read_paused and self._asked and not self.transport.is_closing():
            if len(self.conn.trailing_data[0]) > LARGEST_HEAD:
                self._cut()
            else:
                self.flow.resume_reading()
        self._look()

    def on_response_complete(self) -> None:
        """Now the client is to read, or to ask again."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client reads more slowly than the answer is written."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        self._look()

    @property
    def _asked(self) -> bool:
        """Whether a whole request is here."""
        return self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)

    def _look(self) -> None:
        """Watches the time while it is the client's turn, from when that began; what trickles in changes nothing."""
        if self._asked and not self.flow.write_paused and not self.transport.is_closing():
            self._stop()
        elif self._timer is None:
            self._start()

    def _start(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.clients.seconds, self._time_is_up)
        self.clients.awaited.setdefault(self)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.clients.awaited.pop(self, None)

    def _time_is_up(self) -> None:
        if 0 < self.transport.get_write_buffer_size() < self._unread:  # a slow line, but it reads
            self._start()
        else:
            self._cut()

    def _cut(self) -> None:
        self._stop()
        self.connections.discard(self)  # now, not when the loop gets round to it: a newcomer is counted before that
        self.transport.abort()
