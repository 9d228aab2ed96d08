"""Sources go by short keys: every key that is used is in references.bib, and the page lists the same."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIB = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^@\w+\{([^,\s]+),\n(.*?)^\}", BIB, re.MULTILINE | re.DOTALL))
KEY = r"[a-z]+:\d{2}"
CITED = re.compile(rf"\[({KEY}(?:[,;][^\]\n]*)?)\]")


def keys_in(text):
    return {key for found in CITED.findall(text) for key in re.findall(rf"\b{KEY}\b", found)}


def files(*patterns):
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    assert found, patterns
    return found


@pytest.mark.parametrize(
    "path", files("src/unhub/**/*.py", "docs/*.md", "*.md"), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_cited_key_has_an_entry(path):
    missing = keys_in(path.read_text(encoding="utf-8")) - set(ENTRIES)
    assert not missing, f"{path.relative_to(ROOT)} cites {sorted(missing)}, which references.bib does not have"


def test_citations_are_found():
    sources = files("src/unhub/**/*.py")
    cited = set().union(*(keys_in(path.read_text(encoding="utf-8")) for path in sources))
    assert {"smith:17", "pan:25", "bogolin:22", "schnitzer:12", "liu:23"} <= cited
    assert keys_in("[smith:17; pan:25, Eq. 1-3] and [a:b] and x[1:10]") == {"smith:17", "pan:25"}


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_is_whole(key):
    fields = set(re.findall(r"^\s+(\w+)\s*=", ENTRIES[key], re.MULTILINE))
    assert {"author", "title", "year"} <= fields
    assert fields & {"booktitle", "journal", "eprint"}
    year = re.search(r"year\s*=\s*\{(\d{4})\}", ENTRIES[key])[1]
    assert key.endswith(f":{year[2:]}")
    assert BIB.count(f"{{{key},") == 1


def test_the_page_lists_the_same_entries():
    page = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+) \{#(\S+)\}$", page, re.MULTILINE)
    assert [key for key, _ in headings] == sorted(ENTRIES)
    assert all(anchor == key.replace(":", "-") for key, anchor in headings)
    flat = re.sub(r"\s+", " ", page)
    for body in ENTRIES.values():
        title = re.search(r"title\s*=\s*\{(.*?)\},\n", body, re.DOTALL)[1]
        assert re.sub(r"\s+", " ", title.replace("{", "").replace("}", "")) in flat
