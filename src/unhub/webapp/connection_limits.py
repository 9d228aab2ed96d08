"""Connection limits: slow clients are disconnected, and the longest-waiting connection makes way for a new one.

uvicorn only limits the idle time between requests, and each byte restarts that clock. Here a connection that waits for
its client (to finish a request, or to read a response) is closed after some seconds, and when there are too many
connections, the one that has waited longest is closed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from unhub.webapp.security import LARGEST_HEAD

MOST_CONNECTIONS = 1000
"""browsers open six for a page"""
OTHER_FILES = 300
"""file descriptors for everything else, connections included that are accepted before others are closed"""
SECONDS = 10.0
"""time limit for a whole request to arrive, or for some progress in reading a response"""


def most_connections() -> int:
    """Connections that this process may have open, given its limit of open files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(soft - OTHER_FILES, soft // 2))


@dataclass(eq=False)
class ConnectionLimits:
    """What the connections of a server share: limits, and who waits for a client, longest first."""

    most: int = field(default_factory=most_connections)
    seconds: float = SECONDS
    awaited: dict[Connection, None] = field(default_factory=dict)

    def connection(self, **options: Any) -> Connection:
        """The protocol object that uvicorn makes for each client."""
        return Connection(self, **options)


class Connection(H11Protocol):
    """A uvicorn connection with limits."""

    def __init__(self, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(**options)
        self.limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the longest-waiting connection if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.most and self.limits.awaited:
            next(iter(self.limits.awaited))._close()
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop its timer."""
        super().connection_lost(exc)
        self._stop()

    def data_received(self, data: bytes) -> None:
        """Keep reading while a request is answered, to notice when the client leaves."""
        super().data_received(data)
        if self.flow.read_paused and self._request_complete and not self.transport.is_closing():
            if len(self.conn.trailing_data[0]) > LARGEST_HEAD:
                self._close()
            else:
                self.flow.resume_reading()
        self._update_timer()

    def on_response_complete(self) -> None:
        """Now it is the client's turn to read or to send."""
        super().on_response_complete()
        self._update_timer()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        super().pause_writing()
        self._update_timer()

    def resume_writing(self) -> None:
        """The client caught up."""
        super().resume_writing()
        self._update_timer()

    @property
    def _request_complete(self) -> bool:
        """Whether a whole request has arrived."""
        return self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)

    def _update_timer(self) -> None:
        """Run the timer while it is the client's turn, from when that began; a trickle of bytes does not reset it."""
        if self._request_complete and not self.flow.write_paused and not self.transport.is_closing():
            self._stop()
        elif self._timer is None:
            self._start()

    def _start(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.limits.seconds, self._expire)
        self.limits.awaited.setdefault(self)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.limits.awaited.pop(self, None)

    def _expire(self) -> None:
        if 0 < self.transport.get_write_buffer_size() < self._unread:  # slow, but reading
            self._start()
        else:
            self._close()

    def _close(self) -> None:
        self._stop()
        self.connections.discard(self)  # now: the next connection is counted before the loop gets to it
        self.transport.abort()
