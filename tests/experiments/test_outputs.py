"""Tables to paste, files for other programs."""

import csv
import json

import ir_measures
import numpy as np
import pyarrow.parquet as parquet
import pytest

from unhub.dataset import Dataset
from unhub.experiments import reproduce
from unhub.foundation.tables import markdown
from unhub.reports import result_files
from unhub.reports.result_tables import result_csv, result_table


@pytest.fixture
def experiment(written):
    return Dataset.open(written(dataset='directions = ["t2i", "i2t"]'))


@pytest.fixture
def table(experiment):
    return reproduce(experiment, ["banks"]).tables[0]


def test_the_best_are_bold_by_computation(table):
    text = markdown(result_table(table))
    values = [row.values["t2i"]["R@1"] for row in table.rows]
    best = [row for row in table.rows if row.values["t2i"]["R@1"] == max(values)]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    bold = [at for at, line in enumerate(lines) if line.split("|")[3].strip().startswith("**")]
    assert bold == [table.rows.index(row) for row in best]


def test_csv_has_a_line_for_every_value(table):
    rows = list(csv.DictReader(result_csv(table).splitlines()))
    assert len(rows) == sum(len(each) for row in table.rows for each in row.values.values())
    first = next(row for row in rows if (row["method"], row["bank"], row["metric"]) == ("dbsn", "val & val", "R@1"))
    wanted = next(row for row in table.rows if (row.label, row.bank) == ("dbsn", "val & val"))
    assert float(first["value"]) == wanted.values[first["direction"]]["R@1"]
    assert "tau=0.1" in first["settings"]


def test_files_are_read_by_other_programs(table, experiment, tmp_path):
    made = result_files.write(table, experiment, tmp_path / "out")
    home = tmp_path / "out" / "banks"
    assert {path.name for path in made} == {path.name for path in home.iterdir()}
    told = json.loads((home / "table.json").read_text())
    assert told["schema_version"] == 1
    assert told["rows"][1]["directions"]["t2i"]["settings"]["tau"] == 0.1
    assert told["facts"]["files"]["test.queries"]
    for row in (row for row in table.rows if row.label in ("none", "sn", "dbsn")):
        for way in ("t2i", "i2t"):
            run = home / f"{way}.{row.bank.replace(' & -', '').replace(' & ', '_')}.{row.label}.run"
            runs, qrels = ir_measures.read_trec_run(str(run)), ir_measures.read_trec_qrels(str(home / f"{way}.qrels"))
            found = ir_measures.calc_aggregate([ir_measures.Success @ 1, ir_measures.Success @ 5], qrels, runs)
            assert 100 * found[ir_measures.Success @ 1] == pytest.approx(row.values[way]["R@1"])
            assert 100 * found[ir_measures.Success @ 5] == pytest.approx(row.values[way]["R@5"])
    each = parquet.read_table(home / "per_query.parquet")
    assert each.num_rows == 60 * 2 * len(table.rows)
    assert {"query", "direction", "bank", "method", "first", "rank", "R@1"} <= set(each.column_names)


def read_back(folder, way, stem):
    """Success at 1, in percent, as ir-measures reads it from the files."""
    run, qrels = folder / f"{way}.{stem}.run", folder / f"{way}.qrels"
    found = ir_measures.calc_aggregate(
        [ir_measures.Success @ 1], ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    )
    return 100 * found[ir_measures.Success @ 1]


def test_merged_targets_are_called_by_their_first(written, tmp_path):
    """Four captions of each image, of which the best counts: a run names the group that was ranked."""
    relevant = np.repeat(np.arange(15), 4)
    np.save(tmp_path / "captions.npy", np.load(written().parent / "test_queries.npy"))
    np.save(tmp_path / "images.npy", np.load(tmp_path / "test_targets.npy")[:15])
    (tmp_path / "pairs.tsv").write_text("".join(f"{image}\t{row}\n" for row, image in enumerate(relevant)))
    test = 'queries = "images.npy"\ntargets = "captions.npy"\nrelevant = "pairs.tsv"'
    path = written(dataset='directions = ["i2t"]', test=test, banks=(), settings='tau = 0.1\ngroup_targets = "max"')
    its = Dataset.open(path)
    table = reproduce(its, ["query-aware"]).tables[0]
    result_files.write(table, its, tmp_path / "out")
    for row in table.rows:
        stem = f"test.{row.label}"
        assert read_back(tmp_path / "out" / "query-aware", "i2t", stem) == pytest.approx(row.values["i2t"]["R@1"])


def test_an_item_is_not_right_for_itself_and_ids_are_words(written, tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(60) // 3)
    (tmp_path / "ids.txt").write_text("".join(f"my photo {row}.jpg\n" for row in range(60)))
    test = 'targets = "test_targets.npy"\nlabels = "labels.npy"\ntarget_ids = "ids.txt"\nquery_ids = "ids.txt"'
    its = Dataset.open(written(dataset='task = "self-retrieval"', test=test, banks=()))
    table = reproduce(its, ["A5"]).tables[0]
    home = tmp_path / "out" / "self-retrieval"
    result_files.write(table, its, tmp_path / "out")
    qrels = [line.split() for line in (home / "forward.qrels").read_text().splitlines()]
    assert len(qrels) == 60 * 2
    assert all(query != target for query, _, target, _ in qrels)
    assert qrels[0][0] == "my%20photo%200.jpg"
    for row in table.rows:
        assert read_back(home, "forward", f"test.{row.label}") == pytest.approx(row.values["forward"]["R@1"])
