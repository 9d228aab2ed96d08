"""The report in a real browser: offline, escaped, light and dark, printed, narrow, and read aloud."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import pytest
from analysis.small_experiment import SCRIPT, write_experiment, write_pictures

from unhub.analysis.report_data import report_data
from unhub.analysis.session import Session
from unhub.cli import main
from unhub.dataset import Dataset
from unhub.experiments import preset, sweep
from unhub.reports.html import LIMIT, embedded, html_report

pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    file = write_experiment(folder, more='media = "media"\n')
    write_pictures(folder)
    sweep(Dataset.open(file), "tau", preset("paper"), bank="val", folder=folder)
    return report_data(Session.open(file), sweeps=(folder,), command="unhub report a && b")


@pytest.fixture(scope="module")
def text(told):
    return html_report(told)


@pytest.fixture
def opened(browser, text, tmp_path):
    """A function that opens the report and gives back the page and what went wrong or out."""
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    contexts = []

    def open_page(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page, wrong = context.new_page(), []
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url))
        page.goto(file.as_uri())
        return page, wrong

    yield open_page
    for context in contexts:
        context.close()


def test_equal_stories_give_equal_files(told, text):
    assert html_report(told) == text


def test_nothing_comes_from_outside(text):
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in text
    named = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert named
    assert all(each.startswith(("data:image/", "#")) for each in named)
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json" id="report-data">']
    assert not re.search(r"\bon\w+=", text.partition("<script")[0])


def test_ids_are_unique_and_every_reference_has_one(text):
    page = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page)) <= {(each, "") for each in ids} | {
        ("", each) for each in ids
    }


def test_the_data_inside_is_the_data_of_the_report(told, text):
    inside = re.search(r'id="report-data">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in inside
    assert json.loads(inside)["headline"] == told.to_dict()["headline"]


def test_what_looks_like_markup_cannot_leave_the_data(told):
    strange = replace(told, title="</script><script>alert(1)</script>\u2028\u2029&")
    assert not set("<>&\u2028\u2029") & set(embedded(strange))
    assert json.loads(embedded(strange))["title"] == strange.title


def test_pictures_are_left_out_where_the_file_would_be_too_large(told, text, monkeypatch):
    monkeypatch.setattr("unhub.reports.html.LIMIT", len(text.encode()) - 1000)
    smaller = html_report(told)
    assert "Pictures are left out" in smaller
    assert 'class="thumb"' not in smaller
    assert 'class="thumb"' in text


def test_a_broken_picture_is_said_and_left_out(told, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    key = next(iter(told.pictures))
    assert "The picture broken.png cannot be read" in html_report(replace(told, pictures={key: broken}))


def test_the_command_writes_a_file_that_is_complete_or_not_there(tmp_path, monkeypatch, capsys):
    write_experiment(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["report", "experiment.toml", "--method", "sn"]) == 0
    shown = capsys.readouterr().out
    assert "wrote report.html" in shown
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "unhub report experiment.toml --method sn -o report.html" in page
    assert main(["report", "experiment.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "dbsn"
    assert main(["report", "experiment.toml", "-o", "nowhere/report.html"]) == 2
    assert "there is no folder nowhere" in capsys.readouterr().err
    assert main(["report", "."]) == 2
    assert "has no run.json" in capsys.readouterr().err


def test_it_opens_without_a_request_and_without_a_complaint(opened, told):
    page, wrong = opened()
    assert wrong == []
    assert page.title() == "Small <b>, made: unhub report"
    assert page.locator("h1").all_inner_texts() == [told.headline.sentence]
    assert page.locator("img.thumb").first.evaluate("image => image.naturalWidth") > 0


def test_markup_in_texts_is_shown_as_text(opened):
    page, _ = opened()
    assert page.locator("h3", has_text=SCRIPT).count() > 0
    assert page.locator(".query", has_text=SCRIPT).count() > 0


def test_dark_mode_turns_the_page_and_its_pictures(opened):
    seen = {}
    for scheme in ("light", "dark"):
        page, _ = opened(scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("getComputedStyle(document.body).color")
        letters = page.evaluate("getComputedStyle(document.querySelector('svg.drawn text')).fill")
        seen[scheme] = [lightness(each) for each in (ground, ink, letters)]
    assert seen["light"][0] > 0.9 > 0.3 > seen["dark"][0]
    for ground, *inks in seen.values():
        assert all(abs(ground - ink) > 0.4 for ink in inks)


def lightness(colour):
    return sum(float(each) for each in re.findall(r"[\d.]+", colour)[:3]) / 765


@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_is_wider_than_its_window(opened, width):
    page, _ = opened(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_can_be_printed(opened, tmp_path):
    page, _ = opened()
    printed = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("nav.contents").is_visible()
    assert page.locator("table.results").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_aloud(opened, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page, _ = opened(scheme=scheme)
    found = [each for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")]
    assert found == [], [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]
    levels = [
        int(name[1]) for name in page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => e.tagName)")
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.locator("svg.drawn:not([role=img])").count() == 0
    assert page.locator("svg.drawn:not([aria-label])").count() == 0


def test_five_thousand_queries_and_a_thousand_pictures_stay_below_the_limit(tmp_path):
    write_experiment(tmp_path, targets=1000, queries=5000, bank=2000, dim=32, more='media = "media"\n')
    write_pictures(tmp_path, 1000, side=96)
    made = html_report(report_data(Session.open(tmp_path / "experiment.toml")))
    assert "image/webp" in made
    assert "Pictures are left out" not in made
    assert len(made.encode()) < LIMIT
