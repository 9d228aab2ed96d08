"""What is special to PostgreSQL as it is corrected: a column, an index over vector and bias, the table as it was."""

import itertools

import numpy as np
import pytest

from stores.problem import Problem, best, identical
from unhub.foundation.errors import InputError, StoreError
from unhub.stores import Block, make_encoding, open_store

pytest.importorskip("psycopg")
pytestmark = pytest.mark.xdist_group("pgvector")
COUNTER = itertools.count()


@pytest.fixture(scope="module")
def problem():
    """Enough vectors for PostgreSQL to find its index worth using."""
    made = Problem.make(count=2000, dim=64, queries=8)
    return Problem(made.vectors, made.queries, made.bias - np.float32(0.7), made.groups, made.ids)


@pytest.fixture
def postgres(engines):
    return engines("pgvector")


@pytest.fixture
def items(postgres, problem):
    """A function that opens a filled table with an index of a kind."""
    opened = []

    def make(index="hnsw", metric="ip", **more):
        name = f"corrected_{next(COUNTER)}"
        postgres.fill(name, problem.ids, problem.vectors, problem.groups, metric=metric, index=index)
        opened.append(open_store(postgres.url(name, metric=metric, **more)))
        return opened[-1]

    yield make
    for each in opened:
        each.drop()
        each.close()


def written(store, problem, strategy, metric, bias=None, name=None):
    bias = problem.bias if bias is None else bias
    made = store.corrected_index(
        name or store.derived("0123abcd"), make_encoding(strategy, metric, problem.vectors.shape[1], bias)
    )
    made.create()
    for block in store.scan(block=700):
        made.write(block, bias[[problem.row[each] for each in block.ids]])
    return made


def recall(found, problem, corrected):
    """The share of the ten best that was found."""
    right = [[problem.ids[row] for row in line] for line in best(corrected, 10)]
    return np.mean([len(set(map(str, a)) & set(b)) / 10 for a, b in zip(found.ids.tolist(), right, strict=True)])


def shape(postgres, store):
    """Everything that the catalogue says of the tables of a name: columns with comments, indexes."""
    with postgres.connect() as live:
        columns = live.execute(
            "SELECT table_name, column_name, data_type, col_description(to_regclass(table_name), ordinal_position) "
            "FROM information_schema.columns WHERE table_name LIKE %s ORDER BY 1, 2",
            [f"{store.name}%"],
        ).fetchall()
        indexes = live.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename LIKE %s ORDER BY 1", [f"{store.name}%"]
        ).fetchall()
    return columns, indexes


@pytest.mark.parametrize(("index", "metric"), [("hnsw", "ip"), ("hnsw", "cosine"), ("ivfflat", "l2")])
def test_the_index_over_vector_and_bias_is_what_answers(postgres, items, problem, index, metric):
    store = items(index, metric, **({"probes": 3} if index == "ivfflat" else {}))
    made = written(store, problem, "expression", metric)
    made.finish()
    name = f"{made.name}_index"
    assert postgres.scans(store)[name] == 0
    found = made.search(problem.queries, 10)
    assert postgres.scans(store)[name] == len(problem.queries)
    made.search(problem.queries, 10, filter={"group": [0, 1, 2]})
    assert postgres.scans(store)[name] == 2 * len(problem.queries)
    made.search(problem.queries, 10, exact=True)
    assert postgres.scans(store)[name] == 2 * len(problem.queries)
    corrected = problem.inner() + problem.bias
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    np.testing.assert_allclose(found.scores, np.take_along_axis(corrected, rows, 1), atol=1e-5)
    raw = recall(store.search(problem.queries, 10), problem, problem.similarities(metric))
    assert recall(found, problem, corrected) > raw - 0.15  # the lists of an IVFFlat begin at random vectors
    exactly = made.search(problem.queries, 10, exact=True)
    identical(exactly.ids, problem.ids, corrected, 10, 1e-5)


def test_the_plan_of_a_prepared_search_stays_with_the_index(postgres, items, problem):
    store = items()
    made = written(store, problem, "expression", "ip")
    made.finish()
    for row in range(20):
        made.search(problem.queries[row % 8], 3)
    assert postgres.scans(store)[f"{made.name}_index"] == 20


def test_the_index_has_the_parameters_of_the_first(postgres, items, problem):
    store = items()
    made = written(store, problem, "expression", "ip")
    made.finish()
    _, indexes = shape(postgres, store)
    definition = dict(indexes)[f"{made.name}_index"]
    assert "USING hnsw" in definition
    assert "vector_ip_ops) WITH (m='12')" in definition
    assert "vector(72)" in definition


@pytest.mark.parametrize("strategy", ["expression", "column"])
def test_the_table_is_as_it_was_when_the_correction_is_dropped(postgres, items, problem, strategy):
    store = items()
    before = shape(postgres, store)
    raw = store.search(problem.queries, 10)
    made = written(store, problem, strategy, "ip")
    assert next(each for each in shape(postgres, store)[0] if each[1] == made.name)[3].startswith("unhub: bias")
    made.drop()
    assert shape(postgres, store) == before
    made = written(store, problem, strategy, "ip")
    made.finish()
    assert shape(postgres, store) != before
    again = store.search(problem.queries, 10)
    assert again.ids.tolist() == raw.ids.tolist()
    made.drop()
    assert shape(postgres, store) == before
    assert store.search(problem.queries, 10).ids.tolist() == raw.ids.tolist()


def test_most_rows_stay_on_their_page_so_that_the_index_need_not_hear_of_them(postgres, items, problem):
    store = items()
    made = written(store, problem, "expression", "ip")
    made.finish()
    store.session.rows("SELECT pg_stat_force_next_flush()")
    with postgres.connect() as live:
        asked = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s"
        updated, stayed = live.execute(asked, [store.name]).fetchone()
    assert updated == 2000
    assert stayed > 0.9 * updated


def test_somebody_elses_column_is_left_alone(postgres, items, problem):
    store = items("none")
    with postgres.connect() as live:
        live.execute(f"ALTER TABLE {store.name} ADD COLUMN price real")
    made = store.corrected_index("price", make_encoding("column", "ip", 64, problem.bias))
    assert (made.exists(), made.made_by_unhub()) == (True, False)
    for act in (made.create, made.drop):
        with pytest.raises(InputError, match="a column price that unhub did not make"):
            act()
    assert "price" in [each[1] for each in shape(postgres, store)[0]]


def test_what_was_written_is_known_before_it_is_finished(postgres, items, problem):
    store = items()
    made = store.corrected_index(store.derived("0123abcd"), make_encoding("expression", "ip", 64, problem.bias))
    made.create()
    first = next(store.scan(block=300))
    made.write(first, np.zeros(300))
    again = open_store(store.url).corrected_index(made.name, made.encoding)
    assert [each for some in again.ids() for each in some] == first.ids
    again.finish()
    assert [each for some in made.ids() for each in some] == first.ids
    assert not [each for each in shape(postgres, store)[0] if each[0].endswith("_waiting")]


@pytest.mark.parametrize("index", ["none", "hnsw"])
def test_of_two_biases_the_later_counts_and_one_that_is_taken_away_counts_as_none(items, problem, index):
    store = items(index)
    made = written(store, problem, "expression", "ip")
    one, two, three = next(made.ids())[:3]
    spare = np.zeros((1, 64), dtype=np.float32)
    made.write(Block([one], spare), np.array([50.0]))
    made.write(Block([one, two, three], np.repeat(spare, 3, 0)), np.array([100.0, 90.0, 80.0]))
    made.delete([three, "123456789"])
    made.finish()
    found = made.search(problem.queries, 3)
    assert [str(each) for each in found.ids[0, :2]] == [one, two]
    assert found.scores[0, 0] == pytest.approx(problem.inner()[0, problem.row[one]] + 100, abs=1e-4)
    made.delete([one])
    made.write(Block([two], spare), np.array([-100.0]))
    made.finish()
    assert one not in [each for some in made.ids() for each in some]
    everything = made.search(problem.queries[:1], 2000)
    assert str(everything.ids[0, -1]) == two
    scores = dict(zip(map(str, everything.ids[0]), everything.scores[0], strict=True))
    for each in (one, three):
        assert scores[each] == pytest.approx(problem.inner()[0, problem.row[each]], abs=1e-5)


@pytest.mark.parametrize("strategy", ["expression", "column"])
def test_a_row_that_comes_later_is_found_with_bias_zero(postgres, items, problem, strategy):
    store = items()
    made = written(store, problem, strategy, "ip")
    made.finish()
    with postgres.connect() as live:
        values = [99999, 1, str(problem.queries[0].tolist())]
        live.execute(f"INSERT INTO {store.name} VALUES (%s, %s, %s)", values)
        live.execute(f"INSERT INTO {store.name} VALUES (99998, 1, NULL)")
    found = made.search(problem.queries[:1], 5)
    assert found.ids[0, 0] == 99999
    assert found.scores[0, 0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("strategy", ["expression", "column"])
@pytest.mark.parametrize("index", ["hnsw", "none"])
def test_by_cosine_the_lengths_of_vectors_and_queries_do_not_count(postgres, items, problem, strategy, index):
    store = items(index, "cosine")
    with postgres.connect() as live:
        live.execute(
            f"UPDATE {store.name} SET embedding = embedding * array_fill((1 + id % 3)::int, ARRAY[64])::vector"
        )
    assert store.describe().unit is False
    made = written(store, problem, strategy, "cosine")
    made.finish()
    corrected = problem.inner() + problem.bias
    found = made.search(7 * problem.queries, 10)
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    np.testing.assert_allclose(found.scores, np.take_along_axis(corrected, rows, 1), atol=1e-5)
    if strategy == "column" or index == "none":
        identical(found.ids, problem.ids, corrected, 10, 1e-5)


def test_other_biases_make_the_index_anew(postgres, items, problem):
    store = items()
    made = written(store, problem, "expression", "ip")
    made.finish()
    first = dict(shape(postgres, store)[1])[f"{made.name}_index"]
    made.finish()
    assert dict(shape(postgres, store)[1])[f"{made.name}_index"] == first
    other = written(store, problem, "expression", "ip", problem.bias + np.float32(3))
    other.finish()
    assert dict(shape(postgres, store)[1])[f"{made.name}_index"] != first
    before = postgres.scans(store)[f"{made.name}_index"]
    found = other.search(problem.queries, 10)
    assert postgres.scans(store)[f"{made.name}_index"] == before + len(problem.queries)
    assert recall(found, problem, problem.inner() + problem.bias + 3) > 0.85


def test_an_index_that_was_left_half_built_is_built_again(postgres, items, problem):
    store = items()
    made = written(store, problem, "expression", "ip")
    made.finish()
    with postgres.connect() as live:
        live.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [f"{made.name}_index"])
    made.finish()
    made.search(problem.queries, 10)
    assert postgres.scans(store)[f"{made.name}_index"] == len(problem.queries)


def test_a_table_in_parts_is_corrected_as_one(postgres, problem):
    name = f"parts_{next(COUNTER)}"
    with postgres.connect() as live:
        live.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, embedding vector(64)) PARTITION BY HASH (id)")
        for part in range(2):
            live.execute(
                f"CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER {part})"
            )
        with live.cursor() as cursor:
            rows = [(each, str(row.tolist())) for each, row in zip(problem.ids, problem.vectors, strict=True)]
            cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s)", rows)
        live.execute(f"CREATE INDEX ON {name} USING hnsw (embedding vector_ip_ops)")
    store = open_store(postgres.url(name))
    assert store.describe().index == "hnsw"
    made = written(store, problem, "expression", "ip")
    made.finish()
    made.finish()
    corrected = problem.inner() + problem.bias
    found = made.search(problem.queries, 10)
    rows = np.vectorize(lambda each: problem.row[str(each)])(found.ids)
    assert recall(found, problem, corrected) > 0.85
    assert sorted(each for some in made.ids() for each in some) == sorted(problem.ids)
    made.drop()
    assert store.describe().count == 2000
    store.drop()


def test_a_vector_that_fills_the_index_leaves_no_room(postgres):
    name = f"wide_{next(COUNTER)}"
    with postgres.connect() as live:
        live.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, a vector(2000), b vector(1999))")
        live.execute(f"CREATE INDEX ON {name} USING hnsw (a vector_ip_ops)")
        live.execute(f"CREATE INDEX ON {name} USING hnsw (b vector_ip_ops)")
    store = open_store(postgres.url(name, column="a"))
    with pytest.raises(InputError, match="use the strategy column"):
        store.corrected_index("extra", make_encoding("expression", "ip", 2000, np.zeros(1))).create()
    fits = open_store(postgres.url(name, column="b")).corrected_index(
        "extra", make_encoding("expression", "ip", 1999, np.zeros(1))
    )
    fits.create()
    fits.finish()
    fits.drop()
    store.drop()


def test_a_table_that_others_keep_busy_is_not_waited_for_without_end(postgres, items, problem):
    store = items("none", timeout=1)
    made = store.corrected_index(store.derived("0123abcd"), make_encoding("column", "ip", 64, problem.bias))
    blocks = store.scan(block=10)
    next(blocks)
    with pytest.raises(StoreError, match="kept the table busy for 1 seconds"):
        made.create()
    blocks.close()
    made.create()
    assert made.exists()


def test_everything_can_be_done_while_others_read_and_write(postgres, items, problem):
    """An open transaction of somebody else's that has touched a row does not stop the export; it sees no change."""
    store = items()
    made = written(store, problem, "column", "ip")
    with postgres.connect() as live, live.transaction():
        live.execute(f"SELECT count(*) FROM {store.name}")
        made.finish()
        assert live.execute(f'SELECT count("{made.name}") FROM {store.name}').fetchone()[0] == 2000
    identical(made.search(problem.queries, 10).ids, problem.ids, problem.inner() + problem.bias, 10, 1e-5)
