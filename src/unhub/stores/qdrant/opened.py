"""Clients that several collections share: opened when first needed, closed with the last collection that uses them.

A folder of the client's local mode and a Qdrant Edge shard can be opened once only, so they are shared by path.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_BY_PATH: weakref.WeakValueDictionary[str, Opened] = weakref.WeakValueDictionary()
_LOCK = threading.RLock()


class Opened:
    """Something with a ``close()`` that is opened when it is first asked for."""

    def __init__(self, open: Callable[[], Any]) -> None:
        self._open = open
        self._client: Any = None
        self._users = 0

    @property
    def client(self) -> Any:
        """The open client."""
        with _LOCK:
            if self._client is None:
                self._client = self._open()
            return self._client

    def join(self, user: object) -> Callable[[], Any]:
        """What the user calls when it is done; it happens by itself when the user is gone."""
        with _LOCK:
            self._users += 1
        return weakref.finalize(user, self._leave)

    def shut(self) -> None:
        """Closes the client now, whoever uses it; the next who asks opens it again."""
        with _LOCK:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def _leave(self) -> None:
        with _LOCK:
            self._users -= 1
            if self._users == 0:
                self.shut()


def opened_at(path: str, open: Callable[[], Any]) -> Opened:
    """The one shared client of a folder."""
    with _LOCK:
        where = os.path.realpath(path)
        found = _BY_PATH.get(where)
        if found is None:
            _BY_PATH[where] = found = Opened(open)
        return found
