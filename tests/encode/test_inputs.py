"""What is encoded, in which order and under which ids: folders, patterns, lines, tables and lists of paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unhub.encoders import read_items
from unhub.foundation.errors import InputError


def test_a_folder(photos: Path) -> None:
    items = read_items(photos)
    assert items.kind == "image"
    assert items.ids == ("inside/p3.png", "p0.png", "p1.png", "p2.png", "p4.png", "p5.png", "p6.png")
    assert [path.name for path in items.values] == [name.rpartition("/")[2] for name in items.ids]


def test_a_pattern(photos: Path) -> None:
    assert read_items(photos / "p[0-2].png").ids == ("p0.png", "p1.png", "p2.png")
    assert read_items(photos / "**" / "*3.png").ids == ("inside/p3.png",)


def test_one_file(photos: Path) -> None:
    items = read_items(photos / "p1.png")
    assert (items.kind, items.ids) == ("image", ("p1.png",))


def test_lines_are_texts_or_paths(tmp_path: Path, photos: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("photos/p2.png\nphotos/p0.png\n")
    items = read_items(path)
    assert (items.kind, items.ids) == ("image", ("photos/p2.png", "photos/p0.png"))
    assert read_items(path, kind="text").values == ("photos/p2.png", "photos/p0.png")
    path.write_text("one\r\ntwo words\r\n\n")
    assert read_items(path).values == ("one", "two words")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_tables(ending: str, tmp_path: Path) -> None:
    rows = [{"image_id": 7, "caption": 'a "red", dog', "other": "x"}, {"image_id": 3, "caption": "a cat", "other": "y"}]
    path = tmp_path / f"table{ending}"
    if ending == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        comma = "," if ending == ".csv" else "\t"
        path.write_text(
            f'image_id{comma}caption{comma}other\n7{comma}"a ""red"", dog"{comma}x\n3{comma}a cat{comma}y\n'
        )
    items = read_items(path)
    assert (items.values, items.ids) == (('a "red", dog', "a cat"), ("7", "3"))
    assert read_items(path, column="other", ids="caption").ids == ('a "red", dog', "a cat")
    assert read_items(path, column="other").values == ("x", "y")
    assert read_items(path, ids=["p", "q"]).ids == ("p", "q")


def test_a_list_of_paths_with_ids(tmp_path: Path, photos: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("id,path\nsecond,photos/p2.png\nfirst,photos/p0.png\n")
    items = read_items(path)
    assert (items.kind, items.ids) == ("image", ("second", "first"))
    assert [each.name for each in items.values] == ["p2.png", "p0.png"]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"text {name}")
    items = read_items(tmp_path)
    assert (items.kind, items.ids) == ("text", ("a.txt", "b.txt"))


CASES = {
    "nothing there": ("no.png", "", "no file or folder", {}),
    "unknown kind": ("t.txt", "a\n", "kind is 'smell'", {"kind": "smell"}),
    "empty line": ("t.txt", "a\n\nb\n", "nothing in line 2", {}),
    "empty": ("t.txt", "\n", "is empty", {}),
    "not text": ("t.txt", b"\xff\xfe\x00", "not UTF-8", {}),
    "no column": ("t.csv", "x,y\n1,2\n", "has the columns x, y; name the one", {}),
    "wrong column": ("t.csv", "x,y\n1,2\n", "no text in column 'z' of row 1; its columns are x, y", {"column": "z"}),
    "empty cell": ("t.csv", "id,text\n1,a\n2,\n", "no text in column 'text' of row 2", {}),
    "no rows": ("t.csv", "id,text\n", "has no rows", {}),
    "not JSON": ("t.jsonl", '{"text": "a"}\n{"text"\n', "line 2 is not valid JSON", {}),
    "not an object": ("t.jsonl", "[1]\n", "line 1 is not an object", {}),
    "ids repeat": ("t.csv", "id,text\n1,a\n1,b\n", "1 ids are not unique, such as '1'", {}),
    "too few ids": ("t.txt", "a\nb\n", "has 2 items but there is 1 id", {"ids": ["x"]}),
    "line end in an id": ("t.txt", "a\n", "has a line end", {"ids": ["x\ny"]}),
    "column of a list": ("t.txt", "a\n", "has no columns", {"column": "text"}),
    "missing files": (
        "t.csv",
        "path\nno.png\n",
        "names 1 files that do not exist, such as 'no.png'",
        {"kind": "image"},
    ),
    "nothing known": ("t.xyz", "a", "no file whose ending says", {}),
    "none of the kind": ("t.png", "a", "has no audio file", {"kind": "audio"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sentence(name: str, tmp_path: Path) -> None:
    file, content, sentence, how = CASES[name]
    if content:
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_items(tmp_path / file, **how)
    assert sentence in str(caught.value)


def test_several_kinds(photos: Path) -> None:
    (photos / "a.wav").write_bytes(b"")
    with pytest.raises(InputError, match=r"files of several kinds \(1 audio, 7 image\); choose one with kind"):
        read_items(photos)
    assert len(read_items(photos, kind="image")) == 7
