"""Tables to paste, files for other programs."""

import csv
import json

import ir_measures
import pyarrow.parquet as parquet
import pytest

from unhub.experiments import preset, read_experiment, reproduce
from unhub.report import result_files, result_tables


@pytest.fixture
def experiment(written):
    return read_experiment(written(dataset='directions = ["t2i", "i2t"]'))


@pytest.fixture
def table(experiment):
    return reproduce(experiment, ["banks"], preset("paper"))[0]


def test_the_best_are_bold_by_computation(table):
    text = result_tables.markdown(table)
    values = [row.values["t2i"]["R@1"] for row in table.rows]
    best = [row for row in table.rows if row.values["t2i"]["R@1"] == max(values)]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    bold = [at for at, line in enumerate(lines) if line.split("|")[3].strip().startswith("**")]
    assert bold == [table.rows.index(row) for row in best]


def test_csv_has_a_line_for_every_value(table):
    rows = list(csv.DictReader(result_tables.csv_lines(table).splitlines()))
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
    assert {"query", "direction", "bank", "method", "first", "R@1", "MnR"} <= set(each.column_names)
