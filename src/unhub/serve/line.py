"""The line before work that few can do at once: fair between visitors, newest question first, never too long."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

Visitor = tuple[str, str | None]
"""an address, and the tab of a browser there; programs have no tab"""

KNOWN = 1000
"""visitors whose having been here is remembered"""

Turn = Literal["go", "newer", "full"]
"""it is this request's turn; a newer one took its place; too many are waiting"""


@dataclass(eq=False)
class Place:
    """One request in a line."""

    line: Line
    visitor: Visitor
    question: Hashable
    turn: asyncio.Future[Turn] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def leave(self) -> None:
        """Gives up the place, or the turn; a second time changes nothing."""
        self.line._left(self)


class Line:
    """So many requests at work, so many waiting.

    Visitors take turns, whoever asked how often, and every other turn goes to one who was here before: a tab is easily
    made up, and a thousand made-up ones must not shut out who looks at the page. A newer question of a visitor replaces
    the same one of theirs that still waits. When the line is full, the address that waits with most requests loses one.
    """

    def __init__(self, at_once: int, most: int) -> None:
        self.at_once, self.most = at_once, most
        self._working: set[Place] = set()
        self._waiting: OrderedDict[Visitor, OrderedDict[Hashable, Place]] = OrderedDict()
        self._known: OrderedDict[Visitor, None] = OrderedDict()
        self._known_next = True

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return sum(map(len, self._waiting.values()))

    def join(self, visitor: Visitor, question: Hashable | None) -> Place:
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

    def _drop_one(self, newcomer: Visitor) -> None:
        """The address that waits most often loses the last request of its longest queue; of equal ones who is new."""
        by_address = Counter(visitor[0] for visitor, places in self._waiting.items() for _ in places)

        def weight(each: Visitor) -> tuple[int, int, bool, bool]:
            return by_address[each[0]], len(self._waiting[each]), each not in self._known, each == newcomer

        longest = max(self._waiting, key=weight)
        _, dropped = self._waiting[longest].popitem()
        if not self._waiting[longest]:
            del self._waiting[longest]
        dropped.turn.set_result("full")

    def _next(self) -> None:
        while self._waiting and len(self._working) < self.at_once:
            visitor = self._first()
            places = self._waiting.pop(visitor)
            _, place = places.popitem(last=False)
            if places:
                self._waiting[visitor] = places  # behind the other visitors
            self._remember(visitor)
            self._working.add(place)
            place.turn.set_result("go")

    def _first(self) -> Visitor:
        """Whose turn it is: the first in line, and every other time the first of those who were here before."""
        known = next((each for each in self._waiting if each in self._known), None) if self._known_next else None
        self._known_next = not self._known_next
        return next(iter(self._waiting)) if known is None else known

    def _remember(self, visitor: Visitor) -> None:
        self._known[visitor] = None
        self._known.move_to_end(visitor)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)

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
