"""The grid of benchmarks/harm.py on one set: the guard holds where strength 1 harms."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "harm.py"


def test_the_guard_on_small_clip_banks(shared_data, tmp_path):
    data = shared_data("coco500/features_clip.npy").parents[1]
    cases = tmp_path / "cases.jsonl"
    command = [sys.executable, SCRIPT, "--data", data, "--only", "coco t2i", "--seeds", "1", "--processes", "1"]
    printed = subprocess.run([*command, "--json", cases], capture_output=True, text=True, check=True).stdout
    found = {case["kind"]: case["columns"] for case in map(json.loads, cases.read_text().splitlines())}
    assert len(found) == 13
    assert min(columns["full"]["change"] for columns in found.values()) < -10
    assert min(columns["recent"]["change"] for columns in found.values()) > -2
    assert found["matched, 250"]["recent"]["change"] > 1
    again = subprocess.run([sys.executable, SCRIPT, "--tables", cases], capture_output=True, text=True, check=True)
    assert again.stdout == printed
