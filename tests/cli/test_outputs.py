"""Where -o may not write: over anything that the same command reads, named or not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .conftest import QUERIES, Run

FIT = ["fit", "sn", "--targets", "targets.npy", "--query-bank", "bank.npy", "-o", "c.unhub"]


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["itself", "a symbolic link", "a hard link"])
@pytest.mark.parametrize("name", ["queries.ids.json", "queries.encoded.json"])
def test_files_that_are_read_beside_the_vectors_are_not_overwritten(run: Run, name: str, link: object) -> None:
    run(*FIT)
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
    assert told.err == f"unhub: output '{out}' is also an input and would be overwritten; choose another name.\n"
    assert Path(name).read_text() == text
