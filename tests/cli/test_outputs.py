"""Where -o may not write: over anything that the same command reads, named or not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from .conftest import QUERIES, Run

FIT = ["fit", "--method", "sn", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "c.unhub"]


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["itself", "a symbolic link", "a hard link"])
@pytest.mark.parametrize("name", ["queries.ids.json", "queries.encoded.json"])
def test_files_that_are_read_beside_the_vectors_are_not_overwritten(run: Run, name: str, link: object) -> None:
    assert run(*FIT).code == 0
    for each in Path().glob("queries.ids.*"):
        each.unlink()
    text = json.dumps([f"q{row}" for row in range(QUERIES)])
    Path(name).write_text(text)
    out = name
    if callable(link):
        out = "out.json"
        link(name, out)
    told = run("search", "c.unhub", "--queries", "queries.npy", "-o", out)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"unhub: -o {out} is also an input and would be overwritten; choose another name.\n"
    assert Path(name).read_text() == text


def test_an_ending_that_is_not_written_is_named_with_its_flag(run: Run) -> None:
    told = run(*FIT[:-1], "c.foo")
    assert (told.code, told.out) == (2, "")
    assert told.err == "unhub: -o c.foo has the ending '.foo'; this command writes .unhub.\n"


def test_a_correction_of_scores_is_not_searched_but_evaluated(run: Run) -> None:
    np.save("matrix.npy", np.eye(4, dtype=np.float32))
    assert run("fit", "--method", "sn", "--scores", "matrix.npy", "-o", "m.unhub").code == 0
    told = run("search", "m.unhub", "--queries", "queries.npy")
    assert told.code == 2
    assert "it has no vectors to search; evaluate takes --scores, and Correction.apply corrects them." in told.err
