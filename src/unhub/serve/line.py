"""The line before work that few can do at once: fair between visitors, newest question first, never too long."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

Turn = Literal["go", "newer", "full"]
"""it is this request's turn; a newer one took its place; too many are waiting"""


@dataclass(eq=False)
class Place:
    """One request in a line."""

    line: Line
    visitor: Hashable
    question: Hashable
    turn: asyncio.Future[Turn] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def leave(self) -> None:
        """Gives up the place, or the turn; a second time changes nothing."""
        self.line._left(self)


class Line:
    """So many requests at work, so many waiting.

    Visitors take turns, whoever asked how often. A newer question of a visitor replaces the same one of theirs that
    still waits. When the line is full, whoever waits with most requests loses the last of them.
    """

    def __init__(self, at_once: int, most: int) -> None:
        self.at_once, self.most = at_once, most
        self._working: set[Place] = set()
        self._waiting: OrderedDict[Hashable, OrderedDict[Hashable, Place]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return sum(map(len, self._waiting.values()))

    def join(self, visitor: Hashable, question: Hashable | None) -> Place:
        """A place; without a question's name it replaces none."""
        place = Place(self, visitor, object() if question is None else question)
        own = self._waiting.setdefault(visitor, OrderedDict())
        older = own.get(place.question)
        own[place.question] = place
        if older is not None:
            older.turn.set_result("newer")
        elif self.waiting > self.most and len(self._working) >= self.at_once:
            self._drop_one(visitor)
        self._next()
        return place

    def _drop_one(self, newcomer: Hashable) -> None:
        """The longest queue of a visitor gets shorter; of equal ones that of the newcomer."""
        longest = max(self._waiting, key=lambda each: (len(self._waiting[each]), each == newcomer))
        _, dropped = self._waiting[longest].popitem()
        if not self._waiting[longest]:
            del self._waiting[longest]
        dropped.turn.set_result("full")

    def _next(self) -> None:
        while self._waiting and len(self._working) < self.at_once:
            visitor, places = self._waiting.popitem(last=False)
            _, place = places.popitem(last=False)
            if places:
                self._waiting[visitor] = places  # behind the other visitors
            self._working.add(place)
            place.turn.set_result("go")

    def _left(self, place: Place) -> None:
        if place in self._working:
            self._working.discard(place)
            self._next()
            return
        own = self._waiting.get(place.visitor, OrderedDict())
        if own.get(place.question) is place:
            del own[place.question]
            if not own:
                del self._waiting[place.visitor]
