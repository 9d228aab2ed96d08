"""Names that a shell, a page or UTF-8 takes for something else than letters."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from .conftest import TARGETS, Run

FIT = ["fit", "--method", "sn", "--query-bank", "bank.npy", "--targets"]


def half_letter() -> str:
    """A file of vectors whose name has a byte that is no UTF-8."""
    name = os.fsdecode(b"t\xff.npy")
    try:
        shutil.copy("targets.npy", name)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    return name


def test_a_report_shows_the_bytes_of_a_name_that_are_no_text(run: Run) -> None:
    pytest.importorskip("jinja2")
    assert run(*FIT, half_letter(), "-o", "c.unhub").code == 0
    told = run("report", "c.unhub", "--queries", "queries.npy", "--targets", half_letter(), "-o", "r.html")
    assert (told.code, told.err) == (0, "")
    assert r"t\udcff.npy" in Path("r.html").read_text("utf-8")


def test_a_page_answers_whatever_a_file_is_called(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("fastapi_offline")
    from fastapi.testclient import TestClient

    from unhub.analysis.session import Session
    from unhub.webapp.app import make_app
    from unhub.webapp.security import AccessPolicy

    odd, queries = os.fsdecode(b"c\xff.unhub"), os.fsdecode(b"q\xff.npy")
    run(*FIT, half_letter(), "-o", odd)
    shutil.copy("queries.npy", queries)
    app = make_app(Session.open(odd, queries=queries), AccessPolicy.of("127.0.0.1", None), maps=tmp_path)
    page = TestClient(app, base_url="http://127.0.0.1:8765")
    assert page.get("/api/about").json()["title"] == r"c\udcff"
    assert r"--queries 'q\udcff.npy' --targets" in page.get("/api/view").json()["command"]
    assert page.get("/api/targets").status_code == 200


def test_no_id_turns_the_text_of_a_report(run: Run) -> None:
    pytest.importorskip("jinja2")
    name = "a\u202egnp.exe\u2066\x1b"
    Path("odd.json").write_text(json.dumps([f"{name}{row}" for row in range(TARGETS)]))
    run(*FIT, "targets.npy", "--target-ids", "odd.json", "-o", "c.unhub")
    assert run("report", "c.unhub", "--queries", "queries.npy", "-o", "r.html").code == 0
    text = Path("r.html").read_text("utf-8")
    assert not re.search("[\x1b\u202a-\u202e\u2066-\u2069]", text)
    assert r"a\u202egnp.exe\u2066\u001b" in text
    data = re.search('<script type="application/json" id="report-data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["hubs"][0]["name"].startswith(name)


def test_commands_to_copy_are_quoted(run: Run) -> None:
    name = "a; touch $(b).unhub"
    told = run(*FIT, "targets.npy", "-o", name)
    assert told.code == 0
    assert f"\n  unhub search '{name}' --queries QUERIES.npy --raw\n" in told.out
    assert f"\n  unhub extend '{name}' --targets NEW_TARGETS.npy -o '{name}'\n" in told.out
