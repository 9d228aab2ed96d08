"""Ids: in the file, beside it, or in a file of their own."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from unhub.foundation.errors import InputError
from unhub.io import open_rows, read_ids, with_ids


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "a\nb b\nc\n"),
        ("x.txt", "\ufeffa\r\nb b\r\nc"),
        ("x.json", '["a", "b b", "c"]'),
        ("x.json", '{"ids": ["a", "b b", "c"]}'),
        ("x.csv", 'a,1\n"b b",2\nc,3\n'),
        ("x.csv", "id,title\na,1\nb b,2\nc,3\n"),
        ("x.csv", "image_id\na\nb b\nc\n"),
        ("x.tsv", "a\tone\nb b\ttwo\nc\tthree\n"),
    ],
)
def test_text_files(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    assert read_ids(tmp_path / name) == ("a", "b b", "c")


def test_arrays_lists_and_files_of_arrays(tmp_path):
    assert read_ids(["a", 7, np.int64(8)]) == ("a", "7", "8")
    assert read_ids(np.array([3, 1])) == read_ids(np.array([3.0, 1.0])) == ("3", "1")
    assert read_ids(np.array([b"a", b"\xc3\xa9"])) == ("a", "é")
    np.save(tmp_path / "x.npy", np.array(["a", "bc"]))
    np.savez(tmp_path / "x.npz", ids=np.array([5, 6]), labels=np.array([0, 1]), vectors=np.eye(2))
    assert read_ids(tmp_path / "x.npy") == ("a", "bc")
    assert read_ids(tmp_path / "x.npz") == ("5", "6")
    assert read_ids(f"{tmp_path}/x.npz::labels") == ("0", "1")


def test_tables_of_arrow(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    vectors = [[1.0, 2.0], [3.0, 4.0]]
    for columns, expected in [
        ({"_id": [7, 8], "title": ["x", "x"], "v": vectors}, ("7", "8")),
        ({"name": ["x", "y"], "v": vectors}, ("x", "y")),
        ({"url": pa.array(["x", "y"]).dictionary_encode(), "v": vectors}, ("x", "y")),
        ({"caption": ["x", "x"], "v": vectors}, None),
        ({"caption": ["x", None], "v": vectors}, None),
        ({"caption": ["x", "y"], "url": ["a", "b"], "v": vectors}, None),
    ]:
        parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
        assert open_rows(tmp_path / "x.parquet", name="targets").ids == expected
        if expected:
            assert read_ids(tmp_path / "x.parquet") == expected


@pytest.mark.parametrize("ending", [".ids.txt", ".ids.json", ".ids.npy"])
def test_ids_beside_the_file(tmp_path, ending):
    np.save(tmp_path / "model.v1.npy", np.eye(2))
    beside = tmp_path / f"model.v1{ending}"
    writers = {
        ".ids.txt": lambda: beside.write_text("a\nb\n"),
        ".ids.json": lambda: beside.write_text(json.dumps(["a", "b"])),
        ".ids.npy": lambda: np.save(beside, np.array(["a", "b"])),
    }
    writers[ending]()
    assert open_rows(tmp_path / "model.v1.npy", name="targets").ids == ("a", "b")


def test_no_ids(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    assert open_rows(tmp_path / "x.npy", name="targets").ids is None


def test_ids_of_several_matrices_in_one_file(tmp_path):
    np.savez(tmp_path / "x.npz", text=np.eye(2), image=np.eye(3), audio=np.eye(4), ids=[7, 8, 9], text_ids=["a", "b"])
    ids = {key: open_rows(f"{tmp_path}/x.npz::{key}", name="targets").ids for key in ("text", "image", "audio")}
    assert ids == {"text": ("a", "b"), "image": ("7", "8", "9"), "audio": None}


def test_number_of_ids(sentence, tmp_path):
    rows = open_rows(np.eye(3), name="targets")
    assert with_ids(rows, ["a", "b", "c"]).ids == ("a", "b", "c")
    assert rows.ids is None
    assert sentence(with_ids, rows, ["a", "b"]) == ("targets has 3 rows but there are 2 ids; give one id for each row.")
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "x.ids.txt").write_text("a\nb\n")
    assert sentence(open_rows, tmp_path / "x.npy", name="targets") == (
        "targets has 3 rows but there are 2 ids in x.ids.txt; give one id for each row."
    )
    np.savez(tmp_path / "y.npz", v=np.eye(3), ids=["a"])
    assert sentence(open_rows, tmp_path / "y.npz", name="queries") == (
        "queries has 3 rows but there is 1 id in y.npz::ids; give one id for each row."
    )


def test_duplicated_ids(sentence):
    rows = open_rows(np.eye(9), name="targets")
    assert sentence(with_ids, rows, list("abacaafgg")) == (
        "targets has ids that are not unique: 'a' in rows 0, 2, 4, ..., 'g' in rows 7, 8 (rows count from 0); "
        "make them so."
    )
    rows = open_rows(np.eye(10), name="targets")
    assert "'c' in rows 4, 5 and 2 more (rows" in sentence(with_ids, rows, list("aabbccddee"))


def test_unusable_id_files(sentence, tmp_path):
    def refused(name, text=None, data=None):
        path = tmp_path / name
        path.write_text(text) if data is None else path.write_bytes(data)
        return sentence(read_ids, path)

    assert refused("x.txt", "a\n\nb\n") == "ids: x.txt has nothing in line 2; write one value in each line."
    assert refused("x.txt", "") == "ids: x.txt is empty (0 bytes); write or copy it again."
    assert refused("x.txt", data=b"a\n\xff\n") == "ids: x.txt is not UTF-8 text (byte 2); save it as UTF-8."
    assert refused("x.json", "{") == (
        "ids: x.json is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); "
        "write or copy it again."
    )
    assert refused("x.json", "3") == 'ids: x.json is not a list of ids; write ["first", "second", ...].'
    assert refused("x.json", '["a", null]') == (
        "ids: x.json has None as id of row 1 (rows count from 0); give text or a number."
    )
    assert refused("x.docx", "a") == (
        "ids: x.docx has the unknown extension '.docx'; known are .txt, .json, .csv, .tsv, .npy, .npz, .safetensors, "
        ".unhub, .pt, .pth, .parquet, .arrow, .feather, .ipc, .h5, .hdf5, .mat, .zarr."
    )
    np.save(tmp_path / "x.npy", np.eye(2))
    assert sentence(read_ids, tmp_path / "x.npy") == (
        "ids: x.npy has shape (2, 2); ids are one column of text or numbers."
    )
    assert sentence(read_ids, [0.5]) == "ids has 0.5 as id of row 0 (rows count from 0); give text or a number."
    np.savez(tmp_path / "x.npz", ids=np.array(["a", None], dtype=object), v=np.eye(2))
    assert sentence(open_rows, tmp_path / "x.npz", name="targets").startswith(
        "targets: x.npz holds pickled Python objects in 'ids'"
    )


def test_the_folder_of_ids(sentence, tmp_path):
    (tmp_path / "x.txt").mkdir()
    assert sentence(read_ids, tmp_path / "x.txt") == "ids: x.txt is a folder, not a file; give a file inside it."


def test_half_of_a_character(sentence, tmp_path):
    """JSON and Python can hold one, but nothing that writes UTF-8."""
    (tmp_path / "x.json").write_text('["a", "\\ud800x"]')
    told = (
        "has '\\ud800x' as id of row 1 (rows count from 0), and a part of it is half of a character (a lone "
        "surrogate); write the ids again as UTF-8 text."
    )
    assert sentence(read_ids, tmp_path / "x.json") == f"ids: x.json {told}"
    np.save(tmp_path / "x.npy", np.array(["a", "\ud800x"]))
    assert sentence(read_ids, tmp_path / "x.npy").endswith(told)
    for values in (["a", "\ud800x"], np.array(["a", "\ud800x"]), np.array(["a", "\ud800x"], dtype=object)):
        assert sentence(read_ids, values) == f"ids {told}"
    for name in ("x.txt", "x.csv"):
        (tmp_path / name).write_bytes("a\n\ud800x\n".encode(errors="surrogatepass"))
        assert sentence(read_ids, tmp_path / name) == f"ids: {name} is not UTF-8 text (byte 2); save it as UTF-8."
    (tmp_path / "x.json").write_text('["\\ud83d\\ude00", "b"]')
    assert read_ids(tmp_path / "x.json") == ("\U0001f600", "b")


def test_whole_numbers_are_remembered(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"id": [7, 8], "v": [[1.0], [2.0]]}), tmp_path / "x.parquet")
    np.save(tmp_path / "v.npy", np.eye(2))
    np.save(tmp_path / "v.ids.npy", np.array([7, 8], dtype=np.uint16))
    (tmp_path / "i.json").write_text("[7, 8]")
    sources = [[7, 8], (np.int32(7), 8), np.array([7, 8]), tmp_path / "x.parquet", tmp_path / "i.json"]
    found = [read_ids(source) for source in sources]
    found += [open_rows(tmp_path / name, name="targets").ids for name in ("x.parquet", "v.npy")]
    for ids in found:
        assert ids == ("7", "8")
        assert ids.original() == [7, 8]
        assert {type(each) for each in ids.original()} == {int}
        assert pickle.loads(pickle.dumps(ids)).original() == [7, 8]


def test_text_stays_text(tmp_path):
    (tmp_path / "i.txt").write_text("7\n8\n")
    (tmp_path / "i.json").write_text('["7", 8]')
    for source in (["7", "8"], ["7", 8], np.array(["7", "8"]), tmp_path / "i.txt", tmp_path / "i.json"):
        assert read_ids(source).original() == ["7", "8"]
    with pytest.raises(InputError, match="True as id of row 1"):
        read_ids([7, True])
    assert read_ids([]).original() == []
    assert with_ids(open_rows(np.eye(2), name="targets"), read_ids([7, 8])).ids.original() == [7, 8]
