"""Notes of exports in a correction file: every field by its type and its range, whoever wrote the file."""

import math
from dataclasses import replace

import numpy as np
import pytest

import unhub
from unhub.deploy.journal import Journal
from unhub.foundation.errors import InputError
from unhub.stores import Export, VectorEncoding, make_encoding

BIAS = np.linspace(-1, 1, 12, dtype=np.float32)
NOTE = Export(
    "faiss:///photos.faiss",
    "photos.unhub-1f3c9a2b.faiss",
    make_encoding("augment", "ip", 4, BIAS),
    "1f3c9a2b",
    "0" * 16,
)

WRONG_LAYOUTS = {
    "form": ["nonsense", None, 3, ["augment"]],
    "metric": ["l1", None, True],
    "dim": [0, -1, True, 4.0, "4", None, 2**21, 8, math.nan],
    "width": [4, 3, 2**21, True, 8.0, "8"],
    "scale": [0, -1.0, math.inf, math.nan, 1e300, "1", True, None],
    "middle": [math.inf, math.nan, 1e300, "0", False],
    "radius": [-1e-9, math.inf, math.nan, 1e300, None],
    "unit": [0, 1, "true", None],
    "copies": [0, -1, 5, True, 1.0, 10**9],
    "lowest": [1.0, math.inf, math.nan, "0"],
    "highest": [-1.0, math.inf, math.nan, None],
    "effort": [0, -1, math.inf, math.nan, 1e9, True, "2"],
    "surprise": [1],
}
MANY = {str(key): 1 for key in range(100)}
WRONG_NOTES = {
    "origin": [None, 7, "qdrant://a\nb/c", "faiss:///" + "x" * 5000, "faiss:///\x1b[2J", "\ud800"],
    "place": [7, "x" * 2000, "photos\x00", ["photos"]],
    "tag": [None, "", "1F3C9A2B", "1f3c9a2", "../../..", "1f3c9a2b\n", 7],
    "bias": [None, "", "zz", "0" * 17],
    "state": ["nonsense", None, 1],
    "alias": ["", "a/b", "..\\b", "x" * 2000, "\x07", 7],
    "alias_before": ["../photos", "\r", True],
    "items": [-1, True, 1.5, "3", 2**60],
    "tested": [[], "x", None, {"a": {}}, {"a": []}, {"a": "\x1b"}, {"effort": "much"}, {"effort": 1e9}, MANY],
    "layout": [None, [], "augment", {}],
}


def _cases(table):
    return [pytest.param(name, value, id=f"{name}-{str(value)[:12]!r}") for name in table for value in table[name]]


def test_what_was_written_is_read():
    for strategy in ("augment", "constant_norm", "expression", "column", "payload", "rerank"):
        for coded in (True, False):
            made = make_encoding(strategy, "cosine", 4, BIAS, coded=coded, unit=True, scale=2.0)
            assert VectorEncoding.from_dict(made.to_dict()) == made
    note = replace(
        NOTE, alias="live", alias_before="photos", items=3, self_test={"recall": 0.5, "score_error": math.inf}
    )
    assert Export.from_dict(note.to_dict()) == note
    old = {
        name: value for name, value in NOTE.to_dict().items() if name in ("origin", "place", "layout", "tag", "bias")
    }
    assert Export.from_dict(old) == NOTE


@pytest.mark.parametrize(("name", "value"), _cases(WRONG_LAYOUTS))
def test_a_layout_that_is_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=r"^its "):
        VectorEncoding.from_dict({**NOTE.encoding.to_dict(), name: value})


@pytest.mark.parametrize(("name", "value"), _cases(WRONG_NOTES))
def test_a_note_that_is_out_of_range_is_refused(name, value):
    with pytest.raises((ValueError, KeyError)):
        Export.from_dict({**NOTE.to_dict(), name: value})


def test_a_file_with_such_a_note_is_damaged_or_not_ours(tmp_path):
    file = tmp_path / "photos.unhub"
    vectors = np.eye(12, dtype=np.float32)
    fitted = unhub.fit("sn", targets=vectors, query_bank=vectors[:5], tau=0.1, strength=1)
    for wrong in (replace(NOTE, tag="../x"), replace(NOTE, encoding=replace(NOTE.encoding, width=2**40))):
        replace(fitted, exports=(wrong,)).save(file)
        with pytest.raises(
            InputError, match=rf"{file} is damaged or was not written by unhub \(its (tag|width) is not"
        ):
            unhub.load(file)
    replace(fitted, exports=()).save(file)
    for text in ('{"exports": [{}]}', "[" * 100_000, '{"exports": 3}', '{"exports": ["x"]}'):
        Journal(file).path.write_text(text)
        with pytest.raises(InputError, match=rf"{file}.exporting is damaged; remove it"):
            unhub.rollback(file, to="faiss:///photos.faiss")
