"""``unhub encode`` as a user meets it: what it prints, writes and refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhub.encoders import run as running
from unhub.io import open_rows

from .conftest import TEXTS, refused


def test_a_folder_of_pictures(run: Any, tmp_path: Path, photos: Path, clip: Path) -> None:
    code, out, err = run("photos", "--model", clip, "-o", "targets.npy", "--device", "cpu")
    assert (code, err) == (0, "")
    assert "(transformers)" in out
    assert "image by get_image_features, float32 on cpu" in out
    assert "wrote targets.npy: 7 unit vectors of 12 numbers, ids in targets.ids.txt" in out
    rows = open_rows("targets.npy", name="targets")
    assert (rows.shape, rows.ids[0]) == ((7, 12), "inside/p3.png")


def test_json_and_ids_of_a_file(run: Any, tmp_path: Path, texts: Path, sentences: Path) -> None:
    (tmp_path / "names.txt").write_text("".join(f"t{at}\n" for at in range(len(TEXTS))))
    code, out, err = run(
        "texts.txt", "--model", sentences, "--ids", "names.txt", "--max-length", 4, "-o", "t.npy", "--json"
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["schema_version"] == 1
    assert (told["rows"], told["dim"], told["max_length"], told["skipped"]) == (len(TEXTS), 16, 4, [])
    assert (told["library"], told["kind"], told["vector"]) == ("sentence-transformers", "text", "sentence embedding")
    assert (tmp_path / "t.ids.txt").read_text().split() == [f"t{at}" for at in range(len(TEXTS))]
    run("texts.txt", "--model", sentences, "-o", "all.npy")
    differ = np.abs(np.load("t.npy") - np.load("all.npy")).max(axis=1)
    assert differ[3] < 1e-6 < differ[5]  # one word fits into four tokens, eleven words do not


def test_a_column_of_a_table(run: Any, tmp_path: Path, clip: Path) -> None:
    (tmp_path / "t.csv").write_text("number,words\nx1,a red dog\nx2,the cat\n")
    code, _, err = run("t.csv", "--column", "words", "--ids", "number", "--model", clip, "-o", "t.npy")
    assert (code, err) == (0, "")
    assert (tmp_path / "t.ids.txt").read_text() == "x1\nx2\n"


@pytest.mark.parametrize("kind", ["photos", "sounds", "films"])
def test_a_broken_file(
    kind: str, run: Any, tmp_path: Path, clip: Path, clap: Path, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(kind)
    model = clap if kind == "sounds" else clip
    name = {"photos": "p2.png", "sounds": "b.wav", "films": "long.mp4"}[kind]
    path = folder / name
    path.write_bytes(b"no such thing" if kind == "sounds" else path.read_bytes()[:60])
    what = {"photos": "an image", "sounds": "an audio", "films": "a video"}[kind]
    refused(run(kind, "--model", model, "-o", "o.npy"), name, f"cannot be read as {what}", "--skip-broken")
    assert not (tmp_path / "o.npy").exists()
    code, out, err = run(kind, "--model", model, "-o", "o.npy", "--skip-broken", "--batch", 1)
    assert (code, err) == (0, "")
    assert f"skipped, unreadable: 1 ({name})" in out
    ids = (tmp_path / "o.ids.txt").read_text().splitlines()
    assert name not in ids
    assert len(ids) == len(np.load("o.npy")) == {"photos": 6, "sounds": 3, "films": 1}[kind]


def test_a_row_belongs_to_its_id_behind_a_file_that_was_left_out(
    run: Any, tmp_path: Path, photos: Path, clip: Path
) -> None:
    run("photos", "--model", clip, "-o", "all.npy")
    (photos / "p0.png").write_bytes(b"broken")  # in the middle of the first batch
    run("photos", "--model", clip, "-o", "some.npy", "--skip-broken", "--batch", 3)
    where = {name: row for row, name in enumerate(Path("all.ids.txt").read_text().splitlines())}
    rows = [where[name] for name in Path("some.ids.txt").read_text().splitlines()]
    np.testing.assert_allclose(np.load("some.npy"), np.load("all.npy")[rows], atol=1e-5)


def test_nothing_but_broken_files(run: Any, tmp_path: Path, clip: Path) -> None:
    (tmp_path / "one.png").write_bytes(b"no picture")
    refused(run("one.png", "--model", clip, "-o", "o.npy", "--skip-broken"), "none of the inputs could be read")
    assert not (tmp_path / "o.npy.part").exists()


def test_ctrl_c(run: Any, tmp_path: Path, texts: Path, clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = running.embed, []

    def interrupted(*words: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(*words, **named)

    monkeypatch.setattr(running, "embed", interrupted)
    code, out, err = run("texts.txt", "--model", clip, "-o", "o.npy", "--batch", 2)
    assert (code, out) == (130, "")
    assert err == "unhub: interrupted; finished batches are in o.npy.part: run the same command again to continue.\n"
    code, out, _ = run("texts.txt", "--model", clip, "-o", "o.npy", "--batch", 2)
    assert code == 0
    assert "4 items were done already" in out


def cases(folder: Path) -> dict[str, tuple[list[Any], tuple[str, ...]]]:
    text, clip = "texts.txt", folder / "clip"
    return {
        "no folder": ([text, "--model", "./no/model"], ("--model './no/model' is no folder here", "name on the hub")),
        "no model in it": ([text, "--model", "photos"], ("has none of modules.json", "config.json")),
        "library": ([text, "--model", clip, "--library", "keras"], ("library is 'keras'", "open-clip")),
        "kind": ([text, "--model", clip, "--kind", "smell"], ("kind is 'smell'", "video")),
        "device": ([text, "--model", clip, "--device", "toaster"], ("device 'toaster' cannot be used", "pass cpu")),
        "precision": ([text, "--model", clip, "--precision", "int3"], ("precision is 'int3'", "float16")),
        "batch": ([text, "--model", clip, "--batch", 0], ("batch is 0", "at least 1")),
        "max length": ([text, "--model", clip, "--max-length", 99], ("--max-length is 99", "reads 20 tokens")),
        "max length of images": (["photos", "--model", clip, "--max-length", 9], ("--max-length is 9 for image",)),
        "sounds for CLIP": (
            ["photos/p1.png", "--model", folder / "clap"],
            ("is a ClapModel, which takes text and audio, not image", "--kind"),
        ),
        "texts for DINO": ([text, "--model", folder / "dinov2"], ("cannot take text", "AutoTokenizer")),
        "images for BERT": (["photos", "--model", folder / "sentences"], ("takes text, not image", "--library")),
        "lost weights": ([text, "--model", "halved"], ("lacks", "of its weights", "would be random")),
        "no weights": ([text, "--model", "empty"], ("'empty' cannot be loaded", "folder or name is complete")),
        "not a table": ([text, "--model", clip, "--ids", "name"], ("--ids is 'name'", "has no columns")),
    }


@pytest.fixture
def damaged(tmp_path: Path, clip: Path) -> None:
    """A CLIP without the weights of a layer, and one without any."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(clip, tmp_path / "halved")
    weights = load_file(clip / "model.safetensors")
    rest = {name: each for name, each in weights.items() if "text_projection" not in name}
    save_file(rest, tmp_path / "halved" / "model.safetensors", metadata={"format": "pt"})
    shutil.copytree(clip, tmp_path / "empty", ignore=shutil.ignore_patterns("*.safetensors"))


@pytest.mark.parametrize("name", cases(Path()))
def test_a_sentence_and_exit_code_2(
    name: str, run: Any, tmp_path: Path, models: Path, texts: Path, photos: Path, damaged: None, clip: Path,
    clap: Path, dinov2: Path, sentences: Path,
) -> None:  # fmt: skip
    words, sentence = cases(models)[name]
    refused(run(*words, "-o", "o.npy"), *sentence)
    assert not (tmp_path / "o.npy").exists()
    assert not (tmp_path / "o.npy.part").exists()


def test_open_clip_without_weights_is_refused(
    run: Any, tmp_path: Path, texts: Path, open_clip: Any, open_clip_folder: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(open_clip_folder, bare, ignore=shutil.ignore_patterns("*.safetensors"))
    refused(run("texts.txt", "--model", bare, "-o", "o.npy"), "cannot be loaded")
    refused(run("texts.txt", "--kind", "audio", "--model", bare, "-o", "o.npy"), "do not exist")


def test_the_ending_of_the_output(run: Any, texts: Path, clip: Path) -> None:
    refused(run("texts.txt", "--model", clip, "-o", "o.csv"), "'.csv'", "writes .npy")
    refused(run("texts.txt", "--model", clip, "-o", "no/where/o.npy"), "there is no folder no/where")
