"""A bank from texts: what is left out, what is refused, and what is written."""

import json

import numpy as np
import pytest

import unhub
from unhub import InputError
from unhub.cli import main
from unhub.io import read_ids

NAMES = [
    f"{colour} {thing}" for colour in ("red", "blue", "green", "old") for thing in ("house", "boat", "lamp", "dog")
]


def encode(texts):
    """Counts of letters: equal texts agree, others practically never."""
    return np.array([[1 + text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts], dtype=float)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def made(tmp_path):
    def make(source=NAMES, **more):
        return unhub.make_bank(source, output=tmp_path / "bank.npy", encoder=encode, **more)

    return make


def test_lines_are_encoded_in_order(made):
    result = made()
    np.testing.assert_allclose(np.load(result.output), unit(encode(NAMES)), atol=1e-6)
    assert result.texts.read_text().splitlines() == NAMES
    assert list(read_ids(result.ids)) == [str(line) for line in range(1, 17)]
    assert (result.rows, result.dim, result.empty, result.repeated, result.of_gallery) == (16, 26, 0, 0, 0)
    assert result.sentences[0].startswith("Typed example queries: in a study of 29 sets, 100 of them gained 2.0 points")
    assert result.sentences[1] == "84 more queries would make the 100 that are wanted."


SOURCES = {
    "queries.txt": "\n".join(["", *NAMES, "RED  house", " "]),
    "queries.csv": "id,text\n" + "".join(f"{row},{text}\n" for row, text in enumerate(["", *NAMES, "RED  house", ""])),
    "queries.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in ["", *NAMES, "RED  house", None]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_empty_and_repeated_lines_are_left_out(name, made, tmp_path):
    (tmp_path / name).write_text(SOURCES[name])
    result = made(tmp_path / name)
    assert result.texts.read_text().splitlines() == NAMES
    assert (result.rows, result.empty, result.repeated) == (16, 2, 1)
    assert read_ids(result.ids)[0] == "2"  # the line it came from


def test_the_bank_can_be_fitted(made, tmp_path):
    targets = unit(np.random.default_rng(0).random((30, 26))).astype(np.float32)
    correction = unhub.fit("sn", targets=targets, query_bank=made().output, strength=1)
    assert correction.bank_size == 16


def test_the_gallery_is_no_bank(made):
    gallery = unit(encode(NAMES[:12]))
    with pytest.raises(InputError) as refused:
        made(targets=gallery)
    assert str(refused.value) == (
        "these are no queries: 12 of 16 vectors are targets; a gallery as its own bank lost 12.1 points of R@1 in a "
        "study and harmed 81% of its sets; write what people ask."
    )
    with pytest.raises(InputError, match="16 of 16 texts are titles or captions of the gallery"):
        made(target_captions=[name.upper() for name in NAMES])


@pytest.mark.parametrize("known", [{"targets": unit(encode(NAMES[:3]))}, {"target_captions": NAMES[:3]}])
def test_some_texts_of_the_gallery_are_left_out(known, made):
    result = made(**known)
    assert result.of_gallery == 3
    assert result.texts.read_text().splitlines() == NAMES[3:]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"source": NAMES[:4]},
            "there are 4 different texts, and fewer than 10 say nothing; write about 100, such as people would type.",
        ),
        ({"kind": "log"}, "kind is 'log'; use one of examples, titles, queries."),
        ({"model": "some"}, "model and encoder exclude each other; give one of them."),
        (
            {"targets": np.eye(5)},
            "targets has vectors of 5 numbers but the encoder gives 26; take the encoder that made them.",
        ),
        (
            {"source": "queries.pdf"},
            "queries.pdf is no file of texts; give a .txt with a line for each, or a .jsonl, .csv or .tsv.",
        ),
    ],
)
def test_what_cannot_be_a_bank_is_refused(arguments, sentence, made, tmp_path):
    with pytest.raises(InputError) as refused:
        made(**{"source": NAMES} | arguments)
    assert str(refused.value) == sentence
    assert not (tmp_path / "bank.npy").exists()


def test_without_an_encoder_the_advice_is_what_a_bank_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("UNHUB_ENCODER", raising=False)
    with pytest.raises(InputError) as refused:
        unhub.make_bank(NAMES, output=tmp_path / "bank.npy")
    assert str(refused.value) == (
        "a query in text needs the encoder that made the vectors; pass encoder='MODULE:FUNCTION' or encoder='MODEL' "
        "(sentence-transformers), or set UNHUB_ENCODER; or pass model='NAME_OR_FOLDER'."
    )
    (tmp_path / "texts.txt").write_text("\n".join(NAMES))
    assert main(["bank", str(tmp_path / "texts.txt"), "-o", str(tmp_path / "bank.npy")]) == 2
    told = capsys.readouterr().err
    assert told.endswith("or set UNHUB_ENCODER; or pass --model NAME_OR_FOLDER.\n")
    assert "--queries" not in told


def test_a_text_without_a_direction_is_named(tmp_path):
    with pytest.raises(InputError, match="gives no direction for 1 texts, such as 'blue boat'"):
        unhub.make_bank(
            NAMES, output=tmp_path / "bank.npy",
            encoder=lambda texts: [[0.0, 0.0] if text == "blue boat" else [1.0, len(text)] for text in texts],
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["titles", "queries"])
def test_each_kind_says_what_it_is_worth(kind, made):
    assert "lost 4.4 at full strength" in made(kind=kind).sentences[0]
