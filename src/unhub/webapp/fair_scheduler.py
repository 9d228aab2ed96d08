"""A fair scheduler for requests: clients take turns, newer requests replace older ones, the queue is bounded."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

Client = tuple[str, str | None]
"""an IP address and a browser tab there; programs have no tab"""

KNOWN = 1000
"""clients that are remembered"""

Turn = Literal["go", "newer", "full"]
"""run now; replaced by a newer request; refused because the queue is full"""


@dataclass(eq=False)
class Ticket:
    """One queued or running request."""

    scheduler: FairScheduler
    client: Client
    request: Hashable
    turn: asyncio.Future[Turn] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def release(self) -> None:
        """Leave the queue, or free the slot; safe to call twice."""
        self.scheduler._release(self)


class FairScheduler:
    """At most ``at_once`` requests run and at most ``most`` wait.

    Clients take turns however many requests they send. Every other turn goes to a client that was served before: tabs
    are easy to fake, and a thousand fake ones must not lock out the person at the page. A newer request of a client
    replaces its older one of the same name that is still queued. When the queue is full, the IP address with most
    queued requests loses one.
    """

    def __init__(self, at_once: int, most: int) -> None:
        self.at_once, self.most = at_once, most
        self._running: set[Ticket] = set()
        self._waiting: OrderedDict[Client, OrderedDict[Hashable, Ticket]] = OrderedDict()
        self._known: OrderedDict[Client, None] = OrderedDict()
        self._known_next = True

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return sum(map(len, self._waiting.values()))

    def join(self, client: Client, request: Hashable | None) -> Ticket:
        """A ticket; a request without a name replaces none."""
        ticket = Ticket(self, client, object() if request is None else request)
        own = self._waiting.setdefault(client, OrderedDict())
        older = own.get(ticket.request)
        own[ticket.request] = ticket
        if older is not None:
            older.turn.set_result("newer")
        elif self.waiting > self.most and len(self._running) >= self.at_once:
            self._drop_one(client)
        self._next()
        return ticket

    def _drop_one(self, newcomer: Client) -> None:
        """Drop the last request of the longest queue of the busiest IP address; among equals, of a new client."""
        by_address = Counter(client[0] for client, tickets in self._waiting.items() for _ in tickets)

        def weight(each: Client) -> tuple[int, int, bool, bool]:
            return by_address[each[0]], len(self._waiting[each]), each not in self._known, each == newcomer

        longest = max(self._waiting, key=weight)
        _, dropped = self._waiting[longest].popitem()
        if not self._waiting[longest]:
            del self._waiting[longest]
        dropped.turn.set_result("full")

    def _next(self) -> None:
        while self._waiting and len(self._running) < self.at_once:
            client = self._first()
            tickets = self._waiting.pop(client)
            _, ticket = tickets.popitem(last=False)
            if tickets:
                self._waiting[client] = tickets  # behind the other clients
            self._remember(client)
            self._running.add(ticket)
            ticket.turn.set_result("go")

    def _first(self) -> Client:
        """Whose turn it is: the first in the queue, or every other time the first client that was served before."""
        known = next((each for each in self._waiting if each in self._known), None) if self._known_next else None
        self._known_next = not self._known_next
        return next(iter(self._waiting)) if known is None else known

    def _remember(self, client: Client) -> None:
        self._known[client] = None
        self._known.move_to_end(client)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def _release(self, ticket: Ticket) -> None:
        if ticket in self._running:
            self._running.discard(ticket)
            self._next()
            return
        own = self._waiting.get(ticket.client, OrderedDict())
        if own.get(ticket.request) is ticket:
            del own[ticket.request]
            if not own:
                del self._waiting[ticket.client]
