"""Rebuild the table of the emoji demo from Unicode CLDR.

Debian's package unicode-cldr-core has what it takes (Debian 12: CLDR 41):

    apt-get install unicode-cldr-core
    python scripts/build_emoji.py

A row is an emoji or symbol that has a name and keywords in English and shows no skin tone. Its columns: the
emoji (without variation selectors, as in CLDR), its English name, its English keywords, then its name in each
language, empty where CLDR has none.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from unhub.demo.emoji import LANGUAGES

COMMON = Path("/usr/share/unicode/cldr/common")
OUTPUT = Path(__file__).parents[1] / "src" / "unhub" / "demo" / "data" / "emoji.tsv.gz"
SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F3FF + 1)))
INHERITED = "↑↑↑"
"""CLDR's mark for "as in the parent language"."""


def read_annotations(common: Path, language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Names and keywords by emoji, in the order of the files."""
    names: dict[str, str] = {}
    keywords: dict[str, str] = {}
    for folder in ("annotations", "annotationsDerived"):
        file = common / folder / f"{language.replace('-', '_')}.xml"
        for node in ElementTree.parse(file).iter("annotation"):
            text = " ".join((node.text or "").split())
            if text and text != INHERITED:
                (names if node.get("type") == "tts" else keywords)[node.attrib["cp"]] = text
    return names, keywords


def build(common: Path, languages: Sequence[str]) -> str:
    """The table as tab-separated text with a header line."""
    english, keywords = read_annotations(common, "en")
    columns = [english, keywords, *(read_annotations(common, language)[0] for language in languages)]
    emoji = [symbol for symbol in english if symbol in keywords and SKIN_TONES.isdisjoint(symbol)]
    rows = [["emoji", "en", "keywords", *languages]]
    rows += [[symbol, *(column.get(symbol, "") for column in columns)] for symbol in emoji]
    return "".join("\t".join(row) + "\n" for row in rows)


def pack(text: str) -> bytes:
    """The text gzipped without a time or file name, so that equal texts give equal files."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(text.encode("utf-8"))
    return packed.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 and the table written, or 2 and one sentence on what is missing."""
    parser = argparse.ArgumentParser(description="Rebuild the table of the emoji demo from Unicode CLDR.")
    parser.add_argument("common", nargs="?", type=Path, default=COMMON, help="CLDR's common/ (%(default)s)")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT, help="the table (%(default)s)")
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES), help="codes, such as de zh-Hant")
    options = parser.parse_args(arguments)
    try:
        text = build(options.common, options.languages)
    except FileNotFoundError as error:
        print(f"{error.filename} is missing; install unicode-cldr-core or name its common/.", file=sys.stderr)
        return 2
    packed = pack(text)
    options.output.write_bytes(packed)
    print(f"{text.count(chr(10)) - 1} emoji, {len(packed):,} bytes: {options.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
