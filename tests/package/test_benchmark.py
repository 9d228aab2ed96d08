"""The benchmark runs; its times are nobody's business here."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "evaluate_all.py"


def test_the_benchmark_runs_on_a_small_problem(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--small", "-o", tmp_path / "times.json"], capture_output=True, text=True, check=True
    )
    assert "x one product" in done.stdout
    seconds = json.loads((tmp_path / "times.json").read_text())["seconds"]
    assert {"one matrix product", "POT sn, float64", "unhub fit sn", "unhub search, top 10"} <= set(seconds)
    assert all(value > 0 for value in seconds.values())
