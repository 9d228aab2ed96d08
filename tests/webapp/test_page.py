"""The page in a real browser: what a person does with it, by mouse and by keyboard, wide and narrow, light and dark."""

import csv
import io
import re
import time
from dataclasses import asdict

import httpx
import numpy as np
import pytest
from PIL import Image

from unhub.analysis.verdict import verdict_card
from unhub.api.verdict import judge
from unhub.methods.strength import Evidence
from unhub.reports import palette

from .conftest import HOSTILE, Watched

pytestmark = pytest.mark.xdist_group("chromium")  # one browser and one server for all
PANELS = ("hubs", "compare", "changes", "map")


def view_of(server, **values):
    return httpx.get(f"{server}/api/view", params=values).json()


def texts(page, selector):
    return [each.inner_text().strip() for each in page.locator(selector).all()]


def until(page, expression, arg=None, seconds=15):
    """Waits until an expression is true in the page, which forbids the way that playwright waits by itself."""
    ends = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        assert time.monotonic() < ends, expression
        page.wait_for_timeout(30)


def colours_of(picture):
    """How many different colours a screenshot has."""
    return len(Image.open(io.BytesIO(picture)).convert("RGB").getcolors(1 << 24))


def lightness(colour):
    """0 for black, 1 for white, of a colour as browsers write it."""
    numbers = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in numbers]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def style(page, selector, name):
    return page.locator(selector).first.evaluate(f"(element) => getComputedStyle(element).getPropertyValue('{name}')")


def test_it_opens_with_the_headline_and_the_verdict(visit, server):
    page = visit().page
    view = view_of(server)
    assert page.locator("h1").inner_text() == view["headline"]["sentence"]
    assert view["verdict"]["sentence"] in page.locator(".verdict").inner_text()
    assert page.title() == "Made up, model: unhub"
    assert len(texts(page, "#results tbody tr")) == 2


def test_a_method_has_the_colour_that_it_has_in_every_figure(visit):
    watched = visit("/?method=sn", scheme="light")
    for label in ("sn", "is", "dbsn", "none"):
        watched.page.select_option("#set-method", label)
        watched.drawn()
        wanted = palette.METHOD_STYLES[label].page_colour
        rgb = tuple(int(wanted[at : at + 2], 16) for at in (1, 3, 5))
        until(watched.page, f"getComputedStyle(document.querySelector('.bar.after')).fill === 'rgb{rgb}'")
        assert style(watched.page, ".bar.before", "fill") == "rgb(104, 114, 122)"


def test_changing_the_method_changes_everything_together(visit, server):
    watched = visit("/?hub=20&k=5")
    page = watched.page
    for label in ("sn", "none", "is"):
        page.select_option("#set-method", label)
        watched.drawn()
        view = view_of(server, method=label, k=5)
        until(page, "(text) => document.querySelector('h1').textContent === text", arg=view["headline"]["sentence"])
        assert page.locator("#hub-card .facts dd").nth(1).inner_text().split()[0] == str(view["counts_after"][20])
        assert f"method={label}" in page.url
    page.locator("label[for=k-10]").click()
    until(page, "document.querySelector('h1').textContent.includes('first 10')")
    page.locator("#set-strength").evaluate(
        "(slider) => { slider.value = 0; slider.dispatchEvent(new Event('input')); }"
    )
    until(page, "location.search.includes('strength=0')")
    watched.drawn()
    until(page, "!document.querySelector('#results tbody tr:nth-child(2) .moved')")


def test_a_slider_stays_the_same_element_while_it_moves(visit):
    watched = visit("/?method=sn")
    page = watched.page
    page.evaluate("window.slider = document.querySelector('#set-tau')")
    box = page.locator("#set-tau").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(box["x"] + box["width"] / 2 + 8 * step, box["y"] + box["height"] / 2)
        page.wait_for_timeout(90)
    page.mouse.up()
    watched.drawn()
    assert page.evaluate("window.slider === document.querySelector('#set-tau')")
    shown = float(page.locator("#tau-number").input_value())
    assert shown > 0.1
    until(page, "(tau) => location.search.includes(`tau=${tau}`)", arg=f"{shown:g}")


def test_brushing_lists_what_is_brushed(visit, server):
    watched = visit("/?method=sn&k=5")
    page = watched.page
    counts = view_of(server, method="sn", k=5)["counts_before"]
    first = page.locator(".occurrence .bin").nth(0).bounding_box()
    last = page.locator(".occurrence .bin").nth(1).bounding_box()
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2, steps=5)
    page.mouse.up()
    until(page, "location.search.includes('from=0') && location.search.includes('to=1')")
    watched.drawn()
    wanted = sum(each <= 1 for each in counts)
    assert page.locator("#hub-foot").inner_text().startswith(f"{min(60, wanted)} of {wanted} shown")
    page.fill("#brush-from", "2")
    page.keyboard.press("Enter")
    page.fill("#brush-to", "4")
    page.keyboard.press("Enter")
    until(page, "location.search.includes('from=2') && location.search.includes('to=4')")
    wanted = sum(2 <= each <= 4 for each in counts)
    until(page, "(count) => document.querySelector('#hub-foot').textContent.includes(`of ${count} shown`)", arg=wanted)
    page.get_by_role("button", name="Clear").click()
    until(page, "!location.search.includes('from=')")


def test_the_list_sorts_and_searches(visit, server):
    watched = visit("/?method=sn&list=all&k=5")
    page = watched.page
    counts = view_of(server, method="sn", k=5)

    def column(number):
        return [
            int(each.replace("−", "-").replace("+", ""))
            for each in texts(page, f"#hub-rows tbody tr > :nth-child({number})")
        ]

    assert column(2) == sorted(counts["counts_before"], reverse=True)[:60]
    page.get_by_role("button", name="corrected").click()
    until(page, "location.search.includes('sort=after.down')")
    assert column(3) == sorted(counts["counts_after"], reverse=True)[:60]
    page.get_by_role("button", name="corrected").click()
    until(page, "location.search.includes('sort=after.up')")
    assert column(3) == sorted(counts["counts_after"])[:60]
    assert page.locator("#hub-rows th[aria-sort=ascending]").inner_text().startswith("corrected")
    page.fill("#find", "target 11")
    until(page, "location.search.includes('find=target')")
    until(page, "document.querySelectorAll('#hub-rows tbody tr').length === 11")
    assert all("target 11" in each for each in texts(page, "#hub-rows .cut"))
    page.fill("#find", "")
    page.get_by_role("button", name=re.compile("^Never retrieved")).click()
    until(page, "location.search.includes('list=never')")
    until(
        page,
        "[...document.querySelectorAll('#hub-rows tbody td:nth-child(2)')].every((each) => each.textContent === '0')",
    )
    page.get_by_role("button", name=re.compile("^Biggest movers")).click()
    until(page, "location.search.includes('list=movers')")
    watched.drawn()
    moves = [abs(each) for each in column(4)]
    assert moves == sorted(moves, reverse=True)
    assert moves[0] > 0


def test_a_hub_is_opened_and_tells_who_reaches_it(visit, server):
    watched = visit("/?method=sn&k=5&list=all")
    page = watched.page
    hub = int(np.argmax(view_of(server, method="sn", k=5)["counts_before"]))
    card = httpx.get(f"{server}/api/hub/{hub}", params={"method": "sn", "k": 5}).json()
    page.locator(f"[data-key=hub-{hub}]").click()
    until(page, "(hub) => location.search.includes(`hub=${hub}`)", arg=hub)
    page.wait_for_selector("#hub-card h2")
    watched.drawn()
    assert page.locator("#hub-card h2").inner_text() == card["name"]
    rows = page.locator("#hub-card section").nth(0).locator("tbody tr")
    assert rows.count() == len(card["reached"])
    signs = [rows.nth(at).locator(".right, .wrong").get_attribute("class") for at in range(rows.count())]
    assert signs == ["right" if each["right"] else "wrong" for each in card["reached"]]
    mark = rows.nth(0).locator(".right, .wrong").evaluate("(e) => getComputedStyle(e, '::before').content")
    assert mark.strip('" ') in "✓✗", "a sign as well as a colour"
    assert card["contributions"][0]["name"] in page.locator("#hub-card section").nth(1).inner_text()
    page.go_back()
    page.wait_for_selector("#hub-card .empty")


def test_pictures_and_sounds_are_shown(visit):
    watched = visit("/?hub=20")
    page = watched.page
    until(page, "document.querySelector('#hub-card img.large')?.naturalWidth > 0")
    watched.open("/?list=all&find=item001")
    page.get_by_role("button", name="Play target 1").click()
    until(page, "document.querySelector('.play').textContent === '■'")
    page.get_by_role("button", name="Play target 1").click()
    until(page, "document.querySelector('.play').textContent === '▶'")
    watched.open("/?hub=1")
    assert page.locator("#hub-card audio[controls]").get_attribute("src").startswith("/api/media/targets/1")


def test_a_query_is_compared(visit, server):
    watched = visit("/?panel=compare&query=9")
    page = watched.page
    found = httpx.get(f"{server}/api/compare/9").json()
    assert "query 9 of somebody" in page.locator("#comparison h2").inner_text()
    assert texts(page, ".column h3")[0] == "no correction"
    assert page.locator(".column").count() == len(found["columns"]) == 4
    names = [each["name"] for each in found["columns"][3]["answers"]]
    assert texts(page, ".column:nth-of-type(4) .answer a") == names
    right = sum(each["right"] for column in found["columns"] for each in column["answers"])
    assert page.locator(".answer.is-right").count() == right
    page.wait_for_selector(".moves path", state="attached")
    page.fill("#query-find", "query 33 ")
    page.locator("#query-options li").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#comparison h2').textContent.includes('query 33 of')")
    assert "query=33" in page.url
    page.get_by_role("button", name="Next").click()
    until(page, "document.querySelector('#comparison h2').textContent.includes('query 34 of')")
    assert page.locator("#words-text").is_disabled()


def test_the_last_query_has_no_next(visit):
    page = visit("/?panel=compare&query=239").page
    assert page.get_by_role("button", name="Next").is_disabled()
    assert page.get_by_role("button", name="Previous").is_enabled()


@pytest.mark.parametrize(
    "path",
    ["list=constructor", "panel=toString", "__proto__=x&more=-5", "from=1.5&to=x", "panel=changes&worse=abc&better=-1",
     "from=5&to=2", "from=99999", "sort=constructor.up", "k=x&tau=y&strength="],
)  # fmt: skip
def test_an_address_can_hold_anything(visit, path):
    page = visit(f"/?{path}").page
    assert page.locator("h1").inner_text().startswith("1 of 120 images")
    assert page.locator("[role=tabpanel]:visible").count() == 1
    assert not page.locator("#problem").is_visible()


def test_a_problem_is_forgotten_with_what_caused_it(browser, server):
    page = browser.new_page()
    page.goto(f"{server}/?hub=99999")
    page.locator("#problem").wait_for()
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_selector("#comparison h2")
    until(page, "document.querySelector('#problem').hidden")
    page.close()


def test_what_a_slider_had_to_say_is_void_after_another_choice(visit):
    watched = visit("/?method=sn")
    page = watched.page
    page.evaluate("""() => {
      const move = (id, value) => {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event('input'));
      };
      move('set-tau', 0.3);
      move('set-strength', 0.5);
    }""")
    until(page, "location.search.includes('tau=') && location.search.includes('strength=0.5')")
    page.evaluate("""() => {
      const move = (id, value) => {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event('input'));
      };
      move('set-tau', -0.5);
      const method = document.getElementById('set-method');
      method.value = 'none';
      method.dispatchEvent(new Event('change'));
    }""")
    until(page, "location.search.includes('method=none')")
    page.wait_for_timeout(200)
    assert "tau" not in page.url
    until(page, "document.querySelectorAll('#results tbody tr').length === 1")


def test_a_direction_starts_afresh(visit):
    watched = visit("/?method=sn&list=all&find=target&hub=20&from=0&to=5")
    page = watched.page
    page.select_option("#set-direction", "i2t")
    until(page, "location.search.includes('direction=i2t')")
    watched.drawn()
    assert not re.search("find|hub|from|to=", page.url)
    assert page.locator("#hub-rows tbody tr").count() == 60
    page.go_back()
    until(page, "location.search.includes('hub=20')")
    page.wait_for_selector("#hub-card h2")


def test_moving_a_slider_does_not_pile_up_work(visit):
    """However many steps it makes, one question at a time is under way, and the last one is answered."""
    watched = visit("/?method=dbsn")
    page = watched.page
    page.evaluate("""() => {
      const ask = window.fetch;
      window.under = 0;
      window.most = 0;
      window.asked = [];
      window.fetch = async (address, options) => {
        if (!address.startsWith('/api/view')) return ask(address, options);
        window.asked.push(address);
        window.most = Math.max(window.most, (window.under += 1));
        try { return await ask(address, options); } finally { window.under -= 1; }
      };
    }""")
    page.evaluate("""async () => {
      const slider = document.getElementById('set-tau');
      for (let at = 0; at < 30; at += 1) {
        slider.value = at / 60;
        slider.dispatchEvent(new Event('input'));
        await new Promise((done) => setTimeout(done, 45));
      }
    }""")
    shown = f"{float(page.locator('#tau-number').input_value()):g}"
    until(page, "(tau) => location.search.includes(`tau=${tau}`)", arg=shown)
    until(page, "(tau) => window.under === 0 && window.asked.at(-1).includes(`tau=${tau}`)", arg=shown)
    assert page.evaluate("window.most") == 1


def test_losses_are_as_near_as_wins(visit, server):
    watched = visit("/?method=sn&strength=1")
    page = watched.page
    page.get_by_role("tab", name="Better or worse").click()
    page.wait_for_selector("#worse tbody tr")
    view = view_of(server, method="sn", strength=1)
    assert page.locator("#worse h2").inner_text() == f"{view['worse']} queries made worse"
    assert page.locator("#better h2").inner_text() == f"{view['better']} queries made better"
    worse, better = page.locator("#worse").bounding_box(), page.locator("#better").bounding_box()
    assert worse["y"] == better["y"]
    assert worse["width"] == better["width"]
    ranks = [[int(float(each)) for each in texts(page, f"#worse tbody tr > :nth-child({at})")] for at in (2, 3)]
    assert all(before < after for before, after in zip(*ranks, strict=True))
    page.locator("#worse tbody a").first.click()
    page.wait_for_selector("#comparison h2")
    assert "panel=compare" in page.url


def test_an_address_can_be_shared(visit, browser, server):
    watched = visit("/?method=sn&k=5&list=all")
    page = watched.page
    page.fill("#tau-number", "0.07")
    page.keyboard.press("Enter")
    until(page, "location.search.includes('tau=0.07')")
    page.fill("#find", "target 2")
    until(page, "location.search.includes('find=')")
    page.locator("[data-key=hub-20]").click()
    page.wait_for_selector("#hub-card h2")
    watched.drawn()
    seen = [page.locator(each).inner_text() for each in ("#headline", "#results", "#hub-rows", "#hub-card")]
    other = browser.new_context(viewport={"width": 1280, "height": 900})
    copy = Watched(other, server)
    copy.open(page.url.removeprefix(server))
    copy.page.wait_for_selector("#hub-card h2")
    assert [
        copy.page.locator(each).inner_text() for each in ("#headline", "#results", "#hub-rows", "#hub-card")
    ] == seen
    other.close()


def test_the_map_is_drawn_zoomed_and_listed(visit):
    watched = visit("/?panel=map&method=sn")
    page = watched.page
    until(page, "document.querySelector('#map').getAttribute('aria-label').includes('540 points')", seconds=90)
    ends = time.monotonic() + 15
    while colours_of(page.locator("#map").screenshot()) < 20:  # an empty map has one or two
        assert time.monotonic() < ends, "nothing is drawn"
    box = page.locator("#map").bounding_box()
    page.get_by_role("button", name="Lasso").click()
    corners = [(0.05, 0.05), (0.95, 0.05), (0.95, 0.95), (0.05, 0.95), (0.05, 0.06)]
    page.mouse.move(box["x"] + corners[0][0] * box["width"], box["y"] + corners[0][1] * box["height"])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_selector("#map-list tbody tr")
    whole = int(page.locator("#map-list h2").inner_text().split()[0])
    assert whole > 300
    page.locator("#map").focus()
    for _ in range(6):
        page.keyboard.press("+")
    page.keyboard.press("Enter")
    until(page, "(n) => parseInt(document.querySelector('#map-list h2')?.textContent) < n", arg=whole)
    page.get_by_label("queries", exact=True).uncheck()
    page.get_by_label("bank queries", exact=True).uncheck()
    page.get_by_label("bank targets", exact=True).uncheck()
    page.get_by_role("button", name="Show the whole map").click()
    page.locator("#map").focus()
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#map-list h2').textContent.startsWith('120 points')")


def test_text_from_data_stays_text(visit):
    watched = visit("/?list=all&find=%3Cscript%3E&hub=0&k=20&method=sn")
    page = watched.page
    assert page.locator("#hub-card h2").inner_text() == HOSTILE
    assert HOSTILE in texts(page, "#hub-rows .cut")
    for path in ("/?panel=compare&query=0", "/?panel=changes", "/?panel=changes&words=%3Cscript%3E", "/?panel=map"):
        watched.open(path)
    watched.open("/?panel=compare&query=0")
    assert HOSTILE in page.locator("#comparison h2").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img[src=x]").count() == 0


def test_tables_are_copied_as_csv(visit, server):
    watched = visit("/?method=sn&k=5&list=all&hub=20", permissions=["clipboard-read", "clipboard-write"])
    page = watched.page

    def copied(name):
        page.get_by_role("button", name=f"Copy {name} as CSV").click()
        until(page, "document.querySelector('#status').textContent.includes('copied as CSV')")
        page.evaluate("document.querySelector('#status').textContent = ''")
        return list(csv.reader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))

    lines = copied("targets")
    counts = view_of(server, method="sn", k=5)
    assert lines[0] == ["target", "id", "no correction", "corrected", "change", "bias"]
    assert len(lines) == 121, "all of them, also those that are not shown yet"
    by_name = {line[0]: line for line in lines}
    assert HOSTILE in by_name
    assert by_name["target 20"][1] == "item020"
    assert by_name["target 20"][2:4] == [str(counts["counts_before"][20]), str(counts["counts_after"][20])]
    results = copied("results")
    assert results[1][0] == "no correction"
    line = dict(zip(results[0], results[2], strict=True))
    gain = counts["lines"][1]["gain"]
    assert [float(line[name]) for name in ("R@1 gain", "gain low", "gain high")] == [
        gain["value"],
        gain["low"],
        gain["high"],
    ]
    assert (line["bank"], line["direction"], float(line["strength"])) == ("val", "t2i", counts["strength"])
    assert copied("queries of this target")[0] == ["query", "right", "rank, no correction", "rank, corrected"]
    assert copied("bank queries")[0][0] == "bank query"
    watched.open("/?panel=compare&query=3")
    assert copied("comparison")[0][:2] == ["place", "no correction"]
    watched.open("/?panel=changes&method=sn&better=3")
    assert page.locator("#better tbody tr").count() == 3
    lines = copied("queries made better")
    assert lines[0][:3] == ["query", "rank, no correction", "rank, corrected"]
    assert len(lines) == 1 + view_of(server, method="sn")["better"] > 4, "all of them"


def test_a_text_is_no_formula_and_a_number_is_a_number(visit):
    page = visit().page
    made = page.evaluate("""async () => {
      const { csv } = await import('/static/tables.js');
      const name = { title: 'name', text: (row) => row[0] };
      const value = { title: 'value', number: true, text: (row) => row[1] };
      const rows = [["-2+3+cmd|' /C calc'!A0", '−4'], ['=1+1', 0.5], ['\\u2212.5+cmd', null]];
      rows.push(['a − b, c', -3], ['@x', 1]);
      return csv([name, value], rows);
    }""")
    assert list(csv.reader(io.StringIO(made))) == [
        ["name", "value"], ["'-2+3+cmd|' /C calc'!A0", "-4"], ["'=1+1", "0.5"], ["'\u2212.5+cmd", ""],
        ["a − b, c", "-3"], ["'@x", "1"],
    ]  # fmt: skip


def test_the_command_is_shown(visit, server):
    page = visit("/?method=sn&tau=0.07").page
    page.get_by_role("button", name="Command").click()
    shown = texts(page, "#command-dialog pre")
    assert shown[0] == view_of(server, method="sn", tau=0.07)["command"]
    assert shown[1] == page.url
    page.keyboard.press("Escape")
    assert not page.locator("#command-dialog").is_visible()


@pytest.mark.parametrize("panel", PANELS)
def test_dark_is_dark_and_legible(visit, panel):
    page = visit(f"/?panel={panel}&hub=20", scheme="dark").page
    assert lightness(style(page, "body", "background-color")) < 0.03
    assert lightness(style(page, "h1", "color")) > 0.6


def test_colours_can_be_chosen(visit):
    watched = visit("/")
    page = watched.page
    assert lightness(style(page, "body", "background-color")) > 0.9
    for _ in range(2):
        page.locator("#theme-button").click()
    assert lightness(style(page, "body", "background-color")) < 0.03
    page.reload()
    watched.drawn()
    assert lightness(style(page, "body", "background-color")) < 0.03
    assert page.locator("#theme-button").get_attribute("aria-label") == "Colours: dark"


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("panel", PANELS)
def test_nothing_sticks_out(visit, panel, width):
    page = visit(f"/?panel={panel}&hub=20&query=3", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_jumps_when_a_setting_changes(visit):
    watched = visit("/?method=sn&hub=20&k=5")
    page = watched.page
    places = lambda: [page.locator(each).bounding_box()["y"] for each in ("#results", "#tabs", "#hub-list")]  # noqa: E731
    before = places()
    for label in ("is", "nnn", "dbsn"):
        page.select_option("#set-method", label)
        until(page, "(label) => document.querySelector('#set-method').value === label", arg=label)
        watched.drawn()
        assert places() == before


def test_the_guard_says_what_it_serves_and_a_strength_of_ones_own_leads_back(visit, server):
    watched = visit("/?method=sn")
    page, view = watched.page, view_of(server, method="sn")
    assert view["setting"]["strength"] is None
    assert view["strength"] == view["guard"]["strength"] == 0.84
    assert page.locator("#guard h2").inner_text() == view["guard"]["headline"] == "APPLY WEAKER at strength 0.84"
    assert page.locator("#strength-number").input_value() == "0.84"
    assert page.locator("#strength-auto").get_attribute("aria-pressed") == "true"
    assert texts(page, "#guard .evidence b") == [f"{each['strength']:.2f}" for each in view["guard"]["evidence"]]
    assert page.locator("#guard > div").get_attribute("class") == f"guard {view['guard']['colour']}"
    assert texts(page, "#guard .asked") == [view["guard"]["basis"]] != [""]
    limits = page.locator("#guard .evidence .limit").first.get_attribute("d")
    assert limits == "".join(f"M{100 * at:g} -2V12" for at in view["guard"]["limits"])
    assert texts(page, "#guard .checks li") == ["noise checked", "mismatch not checked", "popularity not checked"]
    page.fill("#strength-number", "0.3")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#guard .asked').textContent.includes('a strength of your own, 0.3')")
    assert page.locator("#strength-auto").get_attribute("aria-pressed") == "false"
    assert view_of(server, method="sn", strength=0.3)["guard"] == view["guard"], "the guard does not change its mind"
    page.locator("#guard button").click()
    until(page, "document.querySelector('#strength-number').value === '0.84'")
    assert "strength" not in page.url


def test_the_card_shows_what_all_recent_queries_support_in_the_words_of_the_verdict(visit, server):
    page = visit("/?method=sn").page
    changed = view_of(server, method="is")
    recent = Evidence("recent", 0.5, 0.1, 0.01, 150, with_all=0.62)
    changed["guard"] = asdict(verdict_card(judge((recent,)))) | {"limits": [0.125, 0.5]}
    page.route("**/api/view?*method=is*", lambda route: route.fulfill(json=changed))
    page.select_option("#set-method", "is")
    until(page, "document.querySelectorAll('#guard .evidence li').length === 1")
    words = page.locator("#guard .evidence .more").inner_text()
    assert words == "+0.100 ± 0.010 nats per query, 150 queries; 0.62 with the 2 that gain the most"
    assert "0.62 with the 2 that gain the most" in changed["guard"]["sentence"]
    assert page.locator("#guard .evidence .limit").get_attribute("d") == "M12.5 -2V12M50 -2V12"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("panel", PANELS)
def test_no_serious_findings_of_axe(visit, panel, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(f"/?panel={panel}&hub=20&query=3&k=5", scheme=scheme).page
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in serious] == []


def test_by_keyboard_alone(visit):
    watched = visit("/?method=sn&k=5&list=all")
    page = watched.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the panels"
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.dataset.key || document.activeElement.tagName"
            )
        )
    for needed in (
        "command-button",
        "theme-button",
        "set-method",
        "set-tau",
        "tau-number",
        "set-strength",
        "k-5",
        "tab-hubs",
    ):
        assert needed in seen, needed
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "the focus can be seen"
    page.evaluate("window.method = document.querySelector('#set-method')")
    page.locator("#set-method").focus()
    page.keyboard.type("DBSN", delay=60)  # its first letter chooses another one, which is drawn meanwhile
    until(page, "location.search.includes('method=dbsn')")
    watched.drawn()
    assert page.evaluate("document.activeElement === window.method"), "the focus stays where it was"
    assert page.locator("#set-method").input_value() == "dbsn"
    page.locator("#set-strength").focus()
    page.keyboard.press("ArrowRight")
    until(page, "location.search.includes('strength=0.85')")  # the next one after auto, .84
    page.locator("#tab-hubs").focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("target 11")
    until(page, "location.search.includes('find=target')")
    until(page, "document.querySelector('#hub-foot').textContent.includes('of 11 shown')")
    page.locator("#hub-rows").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#hub-card h2")
    assert "target 11" in page.locator("#hub-card h2").inner_text()
    page.locator("#tab-hubs").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#comparison h2")
    assert page.evaluate("document.activeElement.id") == "tab-compare"
    page.keyboard.press("End")
    until(page, "location.search.includes('panel=map')")


@pytest.mark.parametrize("wrong", ["bank=nowhere", "method=snn", "k=7", "strength=99", "direction=x&hub=3"])
def test_a_mistake_in_the_address_is_said_and_the_page_opens_all_the_same(browser, server, wrong):
    page = browser.new_page()
    page.goto(f"{server}/?{wrong}")
    page.wait_for_selector("h1")
    page.locator("#problem").wait_for()
    assert page.locator("#problem").inner_text().endswith("Reset")
    assert page.locator("#set-method").is_visible()
    assert wrong.partition("&")[0] not in page.url
    page.select_option("#set-method", "is")
    until(page, "document.querySelector('#problem').hidden")
    page.close()


def test_a_quick_answer_shows_no_sign_of_waiting(visit):
    watched = visit("/?method=sn")
    page = watched.page
    page.evaluate("""window.shown = []; new MutationObserver(() => {
      const busy = document.querySelector('#busy');
      if (busy.classList.contains('on')) setTimeout(() => window.shown.push(getComputedStyle(busy).opacity), 120);
    }).observe(document.querySelector('#busy'), { attributes: true })""")
    page.select_option("#set-method", "is")
    watched.drawn()
    page.wait_for_timeout(300)
    assert page.evaluate("window.shown.every((opacity) => opacity === '0' || opacity === 0)")


def test_an_outdated_question_is_given_up_for_the_newest_setting(visit, server):
    """The first answer never comes; the slider has moved on, so the page does not wait for it."""
    watched = visit("/?method=sn")
    page, given_up = watched.page, []
    page.on("requestfailed", lambda request: given_up.append(request.url))
    page.route("**/api/view?*method=is*", lambda route: None)  # held for ever
    page.select_option("#set-method", "is")
    page.select_option("#set-method", "dbsn")
    wanted = view_of(server, method="dbsn")["headline"]["sentence"]
    until(page, "(text) => document.querySelector('h1').textContent === text", arg=wanted)
    assert len(given_up) == 1
    assert "method=is" in given_up[0]
    assert page.locator("#problem").is_hidden()
    watched.errors.clear()


def test_questions_say_which_tab_asks_and_what(visit):
    seen = []
    for watched in (visit("/?method=sn&panel=changes"), visit("/?method=sn&panel=changes")):
        heads = []
        watched.page.on("request", lambda request, heads=heads: heads.append(request.headers))
        watched.page.select_option("#set-method", "is")
        watched.drawn()
        until(watched.page, "location.search.includes('method=is')")
        asked = [each for each in heads if "x-unhub-tab" in each]
        assert {each["x-unhub-request"] for each in asked} == {"view", "changes-worse", "changes-better"}
        seen.append({each["x-unhub-tab"] for each in asked})
    assert len(seen[0]) == len(seen[1]) == 1
    assert seen[0] != seen[1], "each tab has a name of its own"


def test_a_busy_server_is_said_and_asked_once_more(browser, server):
    page, asked = browser.new_page(), []

    def busy(route):
        asked.append(route.request.url)
        if len(asked) == 1:
            body = '{"error": "the server is busy; try again in a moment."}'
            route.fulfill(status=503, headers={"retry-after": "1"}, content_type="application/json", body=body)
        else:
            route.continue_()

    page.route("**/api/view*", busy)
    page.goto(server)
    page.locator("#problem").wait_for()
    said = "The server is busy; trying again …"
    assert page.locator("#problem").inner_text().strip() == said
    page.wait_for_selector("h1")
    until(page, "document.querySelector('#problem').hidden")
    assert len(asked) == 2
    page.unroute("**/api/view*")
    page.route("**/api/view*", lambda route: route.fulfill(status=503, body="Service Unavailable"))
    page.select_option("#set-method", "is")
    until(page, "document.querySelector('#problem').textContent.startsWith('the server answered 503')")
    page.close()
