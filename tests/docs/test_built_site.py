"""The documentation builds in strict mode, and a built page fetches nothing from elsewhere."""

import html.parser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).parents[2]
FETCHED = {"src", "href", "srcset", "poster", "data"}
"""attributes that a browser follows by itself, on the tags below"""
TAGS = {"script", "link", "img", "iframe", "source", "video", "audio", "embed", "object", "use", "image"}
ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class References(html.parser.HTMLParser):
    """Collects what a page would fetch from another host, and the ids that links can point to."""

    def __init__(self):
        super().__init__()
        self.outside = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if tag in TAGS and name in FETCHED and ELSEWHERE.match(value or ""):
                self.outside.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.outside += IN_STYLE.findall(value or "")

    def handle_data(self, data):
        if self.get_starttag_text() and self.get_starttag_text().startswith("<style"):
            self.outside += IN_STYLE.findall(data)


def outside(page):
    parser = References()
    parser.feed(page)
    return parser.outside


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_pages_fetch_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 10
    found = {page.name: outside(page.read_text(encoding="utf-8")) for page in pages}
    assert not {name: refs for name, refs in found.items() if refs}


def test_styles_fetch_nothing_from_elsewhere(site):
    styles = sorted(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert not IN_STYLE.findall(style.read_text(encoding="utf-8")), style.name


def test_the_search_would_notice():
    assert outside('<script src="https://cdn.example/x.js"></script>')
    assert outside('<link rel="stylesheet" href="//fonts.example/css">')
    assert outside('<p style="background: url(http://x.example/y.png)">')
    assert outside("<style>@import 'https://x.example/y.css';</style>")
    assert not outside('<a href="https://x.example">a link is followed by a reader</a><img src="pictures/hub.svg">')


def test_examples_of_docstrings_are_code(site):
    """Without help, Markdown would show >>> as quotations within quotations."""
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "&gt;&gt;&gt; " in page
    assert "<blockquote>" not in page


def test_source_keys_of_docstrings_are_links(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    assert 'href="references.html#smith-17"' in page
    assert 'href="references.html#pan-25"' in page
