"""The client's own object for one Chroma collection: looked up once, and again if the collection was made anew."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from unhub.foundation.optional import require
from unhub.stores.address import Address
from unhub.stores.chroma.client import no_store, open_client
from unhub.stores.faults import guarded
from unhub.stores.protocol import BLOCK

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Connection:
    """One client for a collection and those beside it, opened when it is first needed and again after a close."""

    address: Address
    opened: Any = field(default=None, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    """several threads may ask first, and only one opens"""

    def client(self) -> Any:
        """The client."""
        with self.lock:
            if self.opened is None:
                self.opened = open_client(self.address)
            return self.opened

    def close(self) -> None:
        """Lets go of the client."""
        with self.lock:
            if self.opened is not None:
                self.opened.close()
            self.opened = None


@dataclass
class Handle:
    """One collection, through a client that others may share."""

    address: Address
    connection: Connection
    known: Any = field(default=None, repr=False, compare=False)
    through: Any = field(default=None, repr=False, compare=False)
    """the client that knows it: after a close there is another"""

    def beside(self, name: str) -> Handle:
        """That of another name in the same database."""
        folder = self.address.path.rstrip("/").rpartition("/")[0]
        return Handle(replace(self.address, path=f"{folder}/{name}"), self.connection)

    def ask(self, doing: str, act: Callable[Concatenate[Any, P], T], *rest: P.args, **named: P.kwargs) -> T:
        """What ``act`` gives of the client's object; ``doing`` is for the sentence if it fails."""
        with guarded(self.address, doing):
            known = self.known
            if known is not None and self.through is self.connection.opened:
                try:
                    return act(known, *rest, **named)
                except _not_found():
                    self.known = None
            return act(self._look_up(), *rest, **named)

    def ask_client(self, doing: str, act: Callable[Concatenate[Any, P], T], *rest: P.args, **named: P.kwargs) -> T:
        """What ``act`` gives of the client itself."""
        with guarded(self.address, doing):
            return act(self.connection.client(), *rest, **named)

    def exists(self) -> bool:
        """Whether the collection is there."""
        if no_store(self.address):
            return False
        with guarded(self.address, "cannot be looked up"):
            try:
                self._look_up()
            except _not_found():
                self.known = None
                return False
            return True

    def batch(self) -> int:
        """How many items the store takes at once."""
        most = self.ask_client("cannot be reached", lambda client: int(client.get_max_batch_size()))
        return most if most > 0 else BLOCK

    def forget(self) -> None:
        """Looks the collection up again at the next question."""
        self.known = None

    def _look_up(self) -> Any:
        # Without an embedding function Chroma loads no model, whatever the collection was made with.
        through = self.connection.client()
        known = through.get_collection(self.address.parts[1], embedding_function=None)
        self.known, self.through = known, through
        return known


def _not_found() -> Any:
    return require("chromadb.errors", extra="chroma").NotFoundError
