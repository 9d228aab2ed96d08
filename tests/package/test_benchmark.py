"""The benchmarks run; their times are nobody's business here."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def results(script, folder, *options):
    """What a benchmark prints and what it writes, at a small size."""
    place = folder / "results.json"
    command = [sys.executable, BENCHMARKS / script, "--small", "-o", place, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(place.read_text())


def test_an_evaluation_of_everything(tmp_path):
    said, written = results("evaluate_all.py", tmp_path)
    assert "x one product" in said
    seconds = written["seconds"]
    assert {"one matrix product", "POT sn, float64", "unhub fit sn", "unhub search, top 10"} <= set(seconds)
    assert all(value > 0 for value in seconds.values())


def test_the_parts_of_a_fit_are_the_whole(tmp_path):
    said, written = results("anatomy.py", tmp_path, "--runs", "1")
    assert "in products of" in said
    for parts in written["seconds"].values():
        whole = parts.pop("whole")
        assert sum(parts.values()) - whole < 1e-9
        assert parts["products"] > 0
        assert parts["everything else"] > 0


def test_rows_beside_the_product(tmp_path):
    said, written = results("speed.py", tmp_path, "--only", "unhub:scores", "--runs", "1")
    (row,) = written["rows"]
    assert row["ratio"] > 0
    assert row["error"] < 1e-5
    assert row["overlap"] == 1
    assert "x what is beside it" in said


def test_corrected_beside_raw_in_a_store(tmp_path):
    said, written = results("in_stores.py", tmp_path, "--only", "faiss Flat;faiss HNSW32")
    assert "raw recall" in said
    assert [(row["store"], row["index"], row["strategy"]) for row in written["rows"]] == [
        ("faiss", "Flat", "augment"),
        ("faiss", "HNSW32", "constant_norm"),
    ]
    for row in written["rows"]:
        assert row["latency_ratio"] > 0
        assert row["recall"] > row["raw_recall"] - 0.1


def test_a_million_or_fewer(tmp_path):
    said, written = results("million.py", tmp_path, "--only", "faiss")
    assert "peak" in said
    assert written["rows"]["faiss"]["written"] == 5000
    assert written["rows"]["faiss"]["peak_bytes"] > 0


def test_strategies_and_scales(tmp_path):
    said, written = results("strategies.py", tmp_path)
    assert "constant_norm" in said
    assert all(0 <= row["recall"] <= 1 for row in written["rows"])
    found = list(written["reranking"].values())
    assert found == sorted(found)


def test_every_table_and_figure_of_an_experiment(tmp_path):
    said, written = results("reproduction.py", tmp_path)
    assert "each method on its own / all together" in said
    assert {"table query-aware", "table banks", "figure hub-map", "figure bank-source"} <= set(written["seconds"])
    assert written["alone_over_shared"] > 0


def test_the_page_answers(tmp_path):
    said, written = results("page.py", tmp_path)
    assert "x one ranking" in said
    assert {"temperature of dbsn", "strength", "k", "hub card", "comparison", "losses"} <= set(written["seconds"])
    assert written["crowd"]["errors"] == 0
