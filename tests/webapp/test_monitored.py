"""The history of monitor on the page: what the API gives, what is drawn, and a file that unhub did not write."""

import json
from dataclasses import asdict

import httpx
import numpy as np
import pytest

import unhub
from unhub.analysis.monitor_points import monitor_points
from unhub.analysis.session import Session
from unhub.api.monitor_history import history_beside
from unhub.cli import main

from .conftest import Watched, serving, unit

pytestmark = pytest.mark.xdist_group("chromium")
DATES = ("2026-03-02", "2026-06-01", "2026-09-07")


@pytest.fixture(scope="module")
def gallery(experiment, tmp_path_factory):
    """A correction with a history of three runs, the last of them on queries of another kind."""
    folder, here = tmp_path_factory.mktemp("monitored"), experiment.parent
    correction = unhub.fit("sn", targets=here / "targets.npy", query_bank=here / "bank_queries.npy", tau=0.1)
    correction.save(folder / "shop.unhub")
    asked = np.load(here / "queries.npy")
    other = unit(np.random.default_rng(8).standard_normal((200, asked.shape[1])))
    for date, rows in zip(DATES, (asked[:120], asked[120:], other), strict=True):
        unhub.monitor(folder / "shop.unhub", recent=rows, date=date, history=folder / "shop.history.jsonl")
    return folder / "shop.unhub"


@pytest.fixture(scope="module")
def watched_gallery(gallery, cache):
    with serving(gallery, "--port", 0, cwd=gallery.parent, cache=cache) as address:
        yield address.rstrip("/")


def test_the_api_gives_the_runs_that_a_report_draws(watched_gallery, gallery):
    runs = httpx.get(f"{watched_gallery}/api/history").json()["runs"]
    assert runs == [asdict(each) for each in monitor_points(Session.open(gallery), gallery)]
    assert [each["date"][:10] for each in runs] == list(DATES)
    lines = [json.loads(line) for line in history_beside(gallery).read_text().splitlines()]
    assert [each["status"] for each in runs] == [each["status"] for each in lines]
    assert [each["gain"] for each in runs] == [each["figures"]["gain"][0] for each in lines]


def test_the_sentence_is_the_one_of_monitor(gallery, experiment, tmp_path):
    copy = tmp_path / "x.jsonl"
    copy.write_bytes(history_beside(gallery).read_bytes())
    said = unhub.monitor(gallery, recent=np.load(experiment.parent / "queries.npy"), history=copy)
    assert monitor_points(Session.open(gallery), gallery, copy)[-1].sentence == said.sentence
    assert monitor_points(Session.open(gallery), gallery)[-1].sentence != said.sentence


def test_a_page_without_a_history_has_no_panel(visit, server):
    assert httpx.get(f"{server}/api/history").json() == {"runs": []}
    assert visit().page.locator("#monitor > *").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_panel_shows_both_lines_and_the_newest_sentence(browser, watched_gallery, width, scheme):
    runs = httpx.get(f"{watched_gallery}/api/history").json()["runs"]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    watched = Watched(context, watched_gallery)
    page = watched.open()
    assert page.locator("#monitor .newest").inner_text() == f"{DATES[-1]} {runs[-1]['sentence']}"
    strength, gain = page.locator("#monitor svg").all()
    label = f"from {runs[0]['strength']:.2f} to {runs[-1]['strength']:.2f}"
    assert label in strength.get_attribute("aria-label")
    points = strength.locator(".after circle").evaluate_all(
        "(all) => all.map((each) => Number(each.getAttribute('cy')))"
    )
    values = [each["strength"] for each in runs]
    assert np.argsort(points).tolist() == np.argsort([-each for each in values]).tolist(), "a larger one is higher"
    assert gain.locator("polygon.interval").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for drawing in (strength, gain):
        frame = drawing.bounding_box()
        boxes = [each.bounding_box() for each in drawing.locator("text").all()]
        for at, box in enumerate(boxes):
            assert box["x"] >= frame["x"] - 1
            assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
            for other in boxes[:at]:
                apart = box["x"] + box["width"] <= other["x"] or other["x"] + other["width"] <= box["x"]
                assert apart or abs(box["y"] - other["y"]) >= min(box["height"], other["height"]) - 4
    assert (watched.errors, watched.elsewhere) == ([], [])
    context.close()


@pytest.mark.parametrize("line", ["junk", "[]", '{"date": "2026-01-01"}', "[" * 9000])
def test_a_history_that_unhub_did_not_write_is_one_sentence(gallery, tmp_path, capsys, line):
    (tmp_path / "other.jsonl").write_text(line + "\n")
    code = main(["serve", str(gallery), "--history", str(tmp_path / "other.jsonl"), "--port", "0"])
    said = capsys.readouterr().err
    assert code == 2
    assert f"line 1 of {tmp_path / 'other.jsonl'} is not of a history that unhub wrote" in " ".join(said.split())
    assert "Traceback" not in said


def test_a_history_that_is_damaged_while_the_page_is_open(gallery, cache, tmp_path, browser):
    history = tmp_path / "runs.jsonl"
    history.write_bytes(history_beside(gallery).read_bytes())
    with serving(gallery, "--history", history, "--port", 0, cwd=tmp_path, cache=cache) as address:
        assert len(httpx.get(f"{address}api/history").json()["runs"]) == len(DATES)
        history.write_text("junk\n")
        answer = httpx.get(f"{address}api/history")
        assert (answer.status_code, list(answer.json())) == (400, ["error"])
        context = browser.new_context()
        page = Watched(context, address.rstrip("/")).open()
        assert "is not of a history that unhub wrote" in page.locator("#problem").inner_text()
        assert page.locator("#results tbody tr").count() == 2, "the rest of the page is there"
        context.close()


def test_a_history_that_is_named_must_exist(gallery, tmp_path, capsys):
    for command in (["report", "-o", str(tmp_path / "x.html")], ["serve", "--port", "0"]):
        code = main([*command, str(gallery), "--history", "nothere.jsonl"])
        told = " ".join(capsys.readouterr().err.split())
        assert (code, told) == (
            2,
            "unhub: --history is 'nothere.jsonl', and there is no such file; name a file that unhub monitor wrote, or "
            "leave it out.",
        )
    assert not (tmp_path / "x.html").exists()
    alone = tmp_path / "alone.unhub"
    alone.write_bytes(gallery.read_bytes())
    assert monitor_points(Session.open(alone), alone) == []  # the one beside it may be absent


def test_a_history_goes_with_a_correction(experiment, gallery):
    with pytest.raises(unhub.InputError, match="history"):
        unhub.serve(experiment, history=history_beside(gallery), port=0, block=False)
