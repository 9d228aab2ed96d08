"""A session with PostgreSQL: one connection that is opened when first needed, and what is sent over it together.

Settings hold for one transaction only, so that connections from a pool work too. They travel in one pipeline with
their statements, which PostgreSQL takes as one transaction, and cost no round trip.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from unhub.foundation.errors import StoreError
from unhub.stores.adapter import LazyModule
from unhub.stores.address import Address

psycopg, errors, sql, pgvector = (
    LazyModule(name, extra="pgvector") for name in ("psycopg", "psycopg.errors", "psycopg.sql", "pgvector.psycopg")
)
TIMEOUT = 30.0
PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding", "service", "passfile")  # libpq's own
OLDEST = (0, 8)  # the first pgvector whose index searches on until enough rows pass a filter
AT_ONCE = 256  # statements in one pipeline
_PATIENCE = "1s"  # how long a change waits for a lock: every later transaction waits behind it

Statement = tuple[str, Sequence[Any]]


class Session:
    """Connections to one database, by an address and by libpq's own means (PGPASSWORD, ~/.pgpass, service files)."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.timeout = address.number("timeout", TIMEOUT)
        self.ef_search = 40
        self._live: Any = None
        self._lock = threading.RLock()

    def quoted(self, *names: str) -> str:
        """A name in quotes, or names joined by dots, for a statement with values to bind."""
        return str(sql.Identifier(*names).as_string(None)).replace("%", "%%")

    def literal(self, text: str) -> str:
        """A text as a constant, for a statement without values to bind."""
        return str(sql.Literal(text).as_string(None)).replace("%", "%%")

    def connect(self) -> Any:
        """A new connection that commits every statement and knows vectors."""
        address = self.address
        known = {name: address.value(name) for name in PASSED_ON if name in address.options}
        live = psycopg.connect(
            host=address.value("host") or address.host.strip("[]") or None,
            port=address.port,
            user=address.user,
            password=address.password or address.secret("password"),
            dbname=address.path.strip("/") or None,
            connect_timeout=max(2, round(self.timeout)),
            tcp_user_timeout=round(1000 * self.timeout),
            application_name="unhub",
            autocommit=True,
            **known,
        )
        try:
            self._look(live)
        except BaseException:
            live.close()
            raise
        return live

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        with self._connected() as live:
            cursor = live.execute(statement, parameters)
            return list(cursor.fetchall()) if cursor.description else []

    def together(self, statements: Sequence[Statement], settings: Mapping[str, str]) -> list[list[tuple[Any, ...]]]:
        """The rows of each statement, from one transaction with these settings and in one round trip."""
        chosen = f"SELECT {', '.join(['set_config(%s, %s, true)'] * len(settings))}"
        values = [each for pair in settings.items() for each in pair]
        with self._connected() as live:
            with live.pipeline():
                live.execute(chosen, values, prepare=True)
                cursors = [live.execute(*each, prepare=True, binary=True) for each in statements]
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def copy(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Sends rows in bulk; the only statement without values to bind, so a % in it is a plain %."""
        plain = statement.replace("%%", "%")
        with self._connected() as live, live.cursor() as cursor, cursor.copy(plain) as sink:
            for row in rows:
                sink.write_row(row)

    def change(self, *statements: str) -> None:
        """Changes definitions in one transaction; gives way to other users of the table, and retries for a while."""
        until = time.monotonic() + self.timeout
        with self.patient(self.timeout):
            while True:
                try:
                    with self._connected() as live, live.transaction():
                        live.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
                        for each in statements:
                            live.execute(each, ())
                    return
                except errors.LockNotAvailable:
                    if time.monotonic() > until:
                        raise
                time.sleep(0.1)

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Turns a lock that was not granted within this time into an error with advice."""
        try:
            yield
        except errors.LockNotAvailable as error:
            raise StoreError(
                f"{self.address}: other transactions have kept the table busy for {seconds:g} seconds; end them "
                "(an open scan by unhub is one too), then run the same again."
            ) from error

    @contextmanager
    def stream(self, statement: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """A server-side cursor over one snapshot of the database, on a connection of its own."""
        with self.connect() as live:
            live.autocommit = False
            live.read_only = True
            live.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with live.cursor(name="unhub_scan", binary=True) as cursor:
                cursor.execute(statement, parameters)
                yield cursor

    @contextmanager
    def held(self, statement: str) -> Iterator[Any]:
        """A cursor over rows that the server has materialised, so that no snapshot stays open for it."""
        with self._connected() as live, live.cursor(name="unhub_due", withhold=True, binary=True) as cursor:
            cursor.execute(statement, ())
            yield cursor

    def close(self) -> None:
        """Closes the connection; the next statement opens another one."""
        with self._lock:
            if self._live is not None:
                self._live.close()
            self._live = None

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        with self._lock:
            if self._live is None or self._live.closed:
                self._live = self.connect()
            yield self._live

    def _look(self, live: Any) -> None:
        """Checks that the extension is installed and new enough, and reads the server's own ef_search."""
        query = "SELECT extversion, current_setting('hnsw.ef_search', true) FROM pg_extension WHERE extname = 'vector'"
        row = live.execute(query).fetchone()
        if row is None:
            raise StoreError(f"{self.address}: the database has no pgvector; run CREATE EXTENSION vector there.")
        if tuple(int(part) for part in row[0].split(".")[:2]) < OLDEST:
            raise StoreError(
                f"{self.address}: pgvector is {row[0]} there, and {'.'.join(map(str, OLDEST))} or newer is wanted; "
                "run ALTER EXTENSION vector UPDATE."
            )
        self.ef_search = int(self.address.number("ef_search", float(row[1] or self.ef_search)))
        pgvector.register_vector(live)
