"""What is special to PostgreSQL as it is read: addresses, keys, filters, indexes, snapshots, faults."""

import itertools
import subprocess
import uuid

import numpy as np
import pytest

from stores.engines.pgvector import Guarded
from stores.problem import Problem, identical
from unhub.foundation.errors import InputError, StoreError, UnhubError
from unhub.stores import Block, make_encoding, open_store

pytest.importorskip("psycopg")
pytestmark = pytest.mark.xdist_group("pgvector")
COUNTER = itertools.count()


@pytest.fixture(scope="module")
def problem():
    return Problem.make(count=400, dim=24, queries=8)


@pytest.fixture(scope="module")
def larger():
    """Enough vectors for PostgreSQL to find its index worth using."""
    return Problem.make(count=2000, dim=64, queries=8)


@pytest.fixture
def postgres(engines):
    return engines("pgvector")


@pytest.fixture
def table(postgres):
    """A function that makes a table from its definition and rows, and gives its name."""
    made = []

    def make(definition, rows=(), *statements, name=None):
        made.append(name or f"own_{next(COUNTER)}")
        quoted = '"' + made[-1].replace('"', '""') + '"'
        with postgres.connect() as live:
            live.execute(f"CREATE TABLE {quoted} ({definition})")
            with live.cursor() as cursor:
                if rows:
                    places = ", ".join(["%s"] * len(rows[0]))
                    cursor.executemany(f"INSERT INTO {quoted.replace('%', '%%')} VALUES ({places})", rows)
            for each in statements:
                live.execute(each.format(quoted))
        return made[-1]

    yield make
    with postgres.connect() as live:
        for each in made:
            live.execute('DROP TABLE IF EXISTS "' + each.replace('"', '""') + '" CASCADE')


def one_sentence(caught):
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("pgvector://localhost/shop", "table=items"),
        ("pgvector://localhost/shop?table=items&colour=red", "no option 'colour'"),
        ("pgvector://localhost/shop?table=items&timeout=soon", "timeout is 'soon'"),
    ],
)
def test_an_address_that_cannot_be_meant_gets_one_sentence(url, says):
    with pytest.raises(InputError) as caught:
        open_store(url)
    assert says in one_sentence(caught)


@pytest.mark.parametrize(
    ("definition", "options", "says"),
    [
        ("id int PRIMARY KEY, a vector(3), b halfvec(3)", {}, "are: a, b; name one with ?column="),
        ("id int PRIMARY KEY, a vector(3)", {"column": "c"}, "column is 'c'"),
        ("id int PRIMARY KEY, words text", {}, "are: none"),
        ("x int, y int, a vector(3), PRIMARY KEY (x, y)", {}, "name one with ?id="),
        ("id int PRIMARY KEY, a vector(3)", {"metric": "taxi"}, "known are ip, cosine, l2"),
        ("id int PRIMARY KEY, a vector(3)", {"schema": "elsewhere"}, "no table elsewhere."),
    ],
)
def test_a_table_that_leaves_open_what_is_meant_gets_one_sentence(postgres, table, definition, options, says):
    store = open_store(postgres.url(table(definition), **options))
    with pytest.raises(UnhubError) as caught:
        store.describe()
    assert says in one_sentence(caught)


def test_indexes_for_two_metrics_need_a_word(postgres, table):
    both = [f"CREATE INDEX ON {{}} USING hnsw (a vector_{each}_ops)" for each in ("ip", "l2")]
    name = table("id int PRIMARY KEY, a vector(3)", [(1, "[1,0,0]")], *both)
    with pytest.raises(InputError, match=r"indexes for ip, l2; choose with \?metric="):
        open_store(postgres.url(name)).describe()
    chosen = open_store(postgres.url(name, metric="l2")).describe()
    assert (chosen.metric, chosen.exact) == ("l2", False)
    other = open_store(postgres.url(name, metric="cosine")).describe()
    assert (other.metric, other.exact) == ("cosine", True)


@pytest.mark.parametrize("kind", ["text", "uuid", "varchar(80)", "smallint"])
def test_keys_of_every_type_come_back_as_they_are(postgres, table, kind):
    own = {"uuid": lambda row: uuid.UUID(int=row), "smallint": int}.get(kind, "tab\t'\"\\N é%s{{}} {}".format)
    ids = [own(row) for row in range(6)]
    name = table(f"id {kind} PRIMARY KEY, a vector(2)", [(each, f"[1,{row}]") for row, each in enumerate(ids)])
    store = open_store(postgres.url(name, metric="ip"))
    found = store.search(np.array([[0, 1.0]]), 2)
    expected = [ids[5], ids[4]] if kind == "smallint" else [str(ids[5]), str(ids[4])]
    assert found.ids[0].tolist() == expected
    made = store.corrected_index("extra", make_encoding("column", "ip", 2, np.zeros(6)))
    made.create()
    for block in store.scan(block=4):
        made.write(block, np.array([10.0 if each == str(ids[0]) else 0.0 for each in block.ids]))
    made.finish()
    assert sorted(each for some in made.ids(4) for each in some) == sorted(map(str, ids))
    assert made.search(np.array([[0, 1.0]]), 1).ids[0, 0] == (ids[0] if kind == "smallint" else str(ids[0]))
    store.delete([str(ids[0]), str(ids[1])])
    assert store.describe().count == 4


def test_odd_names_are_quoted_everywhere(postgres, table):
    name = table(
        '"Id %s" int PRIMARY KEY, "Mein ""Vektor" vector(2), "select" int',
        [(1, "[1,0]", 5), (2, "[0,1]", 6)],
        'CREATE INDEX ON {} USING hnsw ("Mein ""Vektor" vector_cosine_ops)',
        name='Odd "%s" {0} naïve',
    )
    store = open_store(postgres.url(name))
    seen = store.describe()
    assert (seen.metric, seen.index, seen.count) == ("cosine", "hnsw", 2)
    made = store.corrected_index(
        store.derived("0123abcd"), make_encoding("expression", "cosine", 2, np.array([0.0, 2.0]))
    )
    made.create()
    for block in store.scan():
        made.write(block, np.array([0.0, 2.0]))
    made.finish()
    assert made.search(np.array([[1.0, 0]]), 2).ids.tolist() == [[2, 1]]
    assert made.search(np.array([[1.0, 0]]), 2, filter={"select": 5}).ids.tolist() == [[1, None]]
    made.drop()
    assert not made.exists()


def test_a_derived_name_fits_into_what_postgres_keeps():
    store = open_store(f"pgvector:///shop?table={'é' * 40}")
    name = store.derived("0123abcd")
    assert name.endswith("_unhub_0123abcd")
    assert len(f"{name}_waiting".encode()) <= 63


def test_filters_are_bound_whatever_their_form(postgres, table):
    from psycopg import sql

    rows = [(row, f"[1,{row}]", row, [None, "x", "y'; DROP TABLE own"][row % 3]) for row in range(12)]
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector(2), price int, brand text", rows), metric="ip"))

    def ids(filter):
        return sorted(each for each in store.search(np.array([[0, 1.0]]), 12, filter=filter).ids[0] if each is not None)

    assert ids({"brand": None}) == [0, 3, 6, 9]
    assert ids({"brand": "y'; DROP TABLE own"}) == [2, 5, 8, 11]
    assert ids({"brand": ["x", None]}) == [0, 1, 3, 4, 6, 7, 9, 10]
    assert ids({"brand": "x", "price": [1, 4]}) == [1, 4]
    assert ids({"brand": []}) == []
    assert ids(("price < %s AND brand = %s", [5, "x"])) == [1, 4]
    assert ids(("price < %s OR brand = %s", [1, "x"])) == [0, 1, 4, 7, 10]
    assert ids(sql.SQL("{} > 9").format(sql.Identifier("price"))) == [10, 11]
    with pytest.raises(InputError, match="a pair such as"):
        ids("price < 5")
    with pytest.raises(StoreError, match="colour"):
        ids({"colour": 1})


def test_a_filter_cannot_change_anything(postgres, table):
    name = table("id int PRIMARY KEY, a vector(2)", [(1, "[1,0]")])
    store = open_store(postgres.url(name))
    with postgres.connect() as live:
        live.execute(
            f"CREATE OR REPLACE FUNCTION spoil() RETURNS bool LANGUAGE sql AS 'DELETE FROM {name} RETURNING true'"
        )
    with pytest.raises(StoreError, match="read-only"):
        store.search(np.array([[1.0, 0]]), 1, filter=("spoil()", []))
    assert store.describe().count == 1


def test_a_narrow_filter_still_gets_all_that_pass(postgres, problem):
    """The index stops early; those that pass are in the part that it has not seen."""
    ids = [str(each) for each in range(400)]
    rare = (np.arange(400) % 57 == 0).astype(int)
    url = postgres.fill(f"own_{next(COUNTER)}", ids, problem.vectors, rare, metric="ip", index="hnsw")
    store = open_store(url)
    with postgres.connect() as live:
        live.execute("ALTER DATABASE postgres SET hnsw.max_scan_tuples = 1")
        live.execute("ALTER DATABASE postgres SET enable_seqscan = off")
    try:
        found = store.search(problem.queries, 8, filter={"group": 1})
    finally:
        with postgres.connect() as live:
            live.execute("ALTER DATABASE postgres RESET ALL")
    among = np.where(rare == 1, problem.similarities("ip"), -np.inf)
    identical(found.ids, ids, among, 8, 1e-5)
    store.drop()


@pytest.mark.parametrize("index", ["hnsw", "ivfflat"])
def test_the_index_is_what_answers(postgres, larger, index):
    url = postgres.fill(f"own_{next(COUNTER)}", larger.ids, larger.vectors, larger.groups, metric="l2", index=index)
    store = open_store(url.replace("eager@", "postgres@"))
    assert (store.describe().index, store.describe().exact) == (index, False)
    before = postgres.whole_reads(store)
    store.search(larger.queries, 5)
    assert list(postgres.scans(store).values()) == [len(larger.queries)]
    assert postgres.whole_reads(store) == before
    store.search(larger.queries, 5, exact=True)
    assert list(postgres.scans(store).values()) == [len(larger.queries)]
    assert postgres.whole_reads(store) == before + len(larger.queries)
    store.drop()


@pytest.mark.parametrize("index", ["hnsw", "ivfflat"])
def test_the_index_goes_on_until_enough_have_passed_the_filter(postgres, larger, index):
    url = postgres.fill(f"own_{next(COUNTER)}", larger.ids, larger.vectors, larger.groups, metric="ip", index=index)
    store = open_store(url.replace("probes=3", "probes=1"))
    store.describe()
    before = postgres.whole_reads(store)
    found = store.search(larger.queries, 200, filter={"group": 1})
    assert all(each is not None for each in found.ids.ravel())
    assert list(postgres.scans(store).values()) == [len(larger.queries)]
    assert postgres.whole_reads(store) == before
    store.drop()


def test_an_index_in_half_precision_is_used_and_vectors_read_whole(postgres, table, larger):
    rows = [(row, str(vector.tolist())) for row, vector in enumerate(larger.vectors)]
    over = "CREATE INDEX ON {} USING hnsw ((a::halfvec(64)) halfvec_cosine_ops)"
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector(64)", rows, over, "ANALYZE {}")))
    seen = store.describe()
    assert (seen.metric, seen.index, seen.exact, seen.dtype) == ("cosine", "hnsw", False, "float32")
    np.testing.assert_array_equal(next(store.scan()).vectors, larger.vectors)
    store.search(larger.queries, 5)
    assert list(postgres.scans(store).values()) == [len(larger.queries)]
    made = store.corrected_index(store.derived("half"), make_encoding("expression", "cosine", 64, larger.bias))
    made.create()
    for block in store.scan():
        made.write(block, larger.bias[[int(each) for each in block.ids]])
    made.finish()
    found = made.search(larger.queries, 5)
    assert postgres.scans(store)[f"{made.name}_index"] == len(larger.queries)
    identical(found.ids, [str(row) for row in range(2000)], larger.inner() + larger.bias, 5, 1e-2)


def test_a_search_for_more_than_the_index_keeps_in_mind_gets_them(postgres, problem):
    url = postgres.fill(f"own_{next(COUNTER)}", problem.ids, problem.vectors, problem.groups, metric="ip", index="hnsw")
    store = open_store(url)
    found = store.search(problem.queries, 300)
    assert all(each is not None for each in found.ids.ravel())
    store.drop()


def test_rows_without_a_vector_are_not_there(postgres, table):
    rows = [(1, "[1,0]"), (2, None), (3, "[0,1]")]
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector(2)", rows)))
    assert store.describe().count == 2
    assert [each for some in store.ids() for each in some] == ["1", "3"]
    assert next(store.scan()).ids == ["1", "3"]
    assert store.search(np.array([[1.0, 0]]), 3).ids.tolist() == [[1, 3, None]]


def test_a_column_without_a_length_is_measured(postgres, table):
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector", [(1, "[1,0]"), (2, "[0,1]")])))
    assert store.describe().dim == 2
    uneven = open_store(postgres.url(table("id int PRIMARY KEY, a vector", [(1, "[1,0]"), (2, "[0,1,2]")])))
    with pytest.raises(StoreError, match="not all of 2 numbers"):
        list(uneven.scan())
    empty = open_store(postgres.url(table("id int PRIMARY KEY, a vector")))
    with pytest.raises(InputError, match="no vectors yet"):
        empty.describe()


def test_an_empty_table_is_described_and_searched(postgres, table):
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector(2)")))
    assert (store.describe().count, store.describe().unit) == (0, None)
    assert list(store.scan()) == []
    assert store.search(np.array([[1.0, 0]]), 2).ids.tolist() == [[None, None]]


def test_a_scan_sees_the_table_as_it_was_when_it_began(postgres, table):
    name = table("id int PRIMARY KEY, a vector(2)", [(row, "[1,0]") for row in range(20)])
    blocks = open_store(postgres.url(name)).scan(block=5)
    first = next(blocks)
    with postgres.connect() as live:
        live.execute(f"DELETE FROM {name} WHERE id > 10")
        live.execute(f"UPDATE {name} SET a = '[0,1]'")
        live.execute(f"INSERT INTO {name} VALUES (100, '[0,1]')")
    rest = list(blocks)
    assert first.ids + [each for block in rest for each in block.ids] == [str(row) for row in range(20)]
    assert all((block.vectors == [1, 0]).all() for block in rest)


def test_an_id_that_is_no_key_is_found_out(postgres, table):
    rows = [(1, 7, "[1,0]"), (2, 8, "[1,0]"), (3, 8, "[1,0]")]
    store = open_store(postgres.url(table("id int PRIMARY KEY, other int, a vector(2)", rows), id="other"))
    with pytest.raises(StoreError, match="'8' twice"):
        list(store.scan(block=2))
    with pytest.raises(InputError, match="is no key"):
        store.corrected_index("extra", make_encoding("column", "ip", 2, np.zeros(3))).create()


def test_no_new_tables_are_made(postgres, table):
    store = open_store(postgres.url(table("id int PRIMARY KEY, a vector(2)")))
    for act in (lambda: store.create(store, 2, "ip"), lambda: store.upsert(Block(["1"], np.zeros((1, 2))))):
        with pytest.raises(InputError, match="strategy expression or column"):
            act()


def test_a_database_without_the_extension_gets_one_sentence(postgres):
    with postgres.connect() as live:
        live.execute("CREATE DATABASE bare")
    store = open_store(postgres.url("items").replace("/postgres?", "/bare?"))
    with pytest.raises(StoreError, match="CREATE EXTENSION vector"):
        store.exists()
    with postgres.connect() as live:
        live.execute("DROP DATABASE bare")


def test_passwords_open_the_door_and_never_show(monkeypatch):
    server = Guarded(password="s3cr%t/word")
    try:
        right = open_store(server.url("s3cr%t/word"))
        assert right.describe().count == 1
        assert "s3cr" not in right.url
        assert "s3cr" not in repr(right.address)
        for url in (server.url("wr0ng!word"), server.url("wr0ng!word").replace("postgresql://", "pgvector://")):
            with pytest.raises(StoreError) as caught:
                open_store(url).describe()
            assert "password authentication failed" in one_sentence(caught)
            assert "wr0ng" not in str(caught.value)
        monkeypatch.setenv("PGPASSWORD", "s3cr%t/word")
        assert open_store(server.url(None)).describe().count == 1
    finally:
        server.end()


def test_a_server_that_stops_in_the_middle_gets_one_sentence_and_the_work_goes_on_later():
    server = Guarded(password="s3cret")
    store = open_store(server.url("s3cret"))
    made = store.corrected_index(store.derived("0123abcd"), make_encoding("column", "ip", 2, np.zeros(1)))
    try:
        made.create()
        block = next(store.scan())
        made.write(block, np.array([0.5]))
        server.stop()
        for act in (
            lambda: made.write(block, np.array([0.25])),
            lambda: store.search(block.vectors, 1),
            store.describe,
        ):
            with pytest.raises(StoreError) as caught:
                act()
            assert "check that the store runs" in one_sentence(caught)
            assert "s3cret" not in str(caught.value)
        server.start()
        assert [each for some in made.ids() for each in some] == ["1"]
        made.finish()
        assert made.search(np.array([[1.0, 0]]), 1).scores[0, 0] == pytest.approx(1.5)
    finally:
        server.end()


def test_the_client_is_not_imported_before_it_is_needed():
    code = "import sys, unhub.stores as s; s.open_store('pgvector:///d?table=t'); print('psycopg' in sys.modules)"
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
