"""What a demonstration writes: the correction, the vectors, the texts, and pictures where there are some."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unhub.api.correction import Correction
from unhub.demo.choice import join_banks
from unhub.demo.clipart import Thumbnails
from unhub.demo.demo_data import DemoData
from unhub.io import replace_file

MEDIA = "media"
TARGET_IDS, NEW_IDS = "targets.ids.txt", "new_targets.ids.txt"
PATH = re.compile(r" \([^()]*/[^()]*\)$")
TEXTS = {"captions": "queries.txt", "bank_captions": "query_bank.txt", "target_captions": "targets.txt"}
"""files of texts, by the options of ``unhub report`` and ``unhub serve`` that take them"""


def ids(labels: Sequence[str], start: int = 0) -> list[str]:
    """A number and the label; the number alone where labels have slashes, so that files can be called by it.

    >>> ids(["🍕 pizza"]), ids(["a/b", "c"], start=7)
    (['0000 🍕 pizza'], ['0007', '0008'])
    """
    plain = any("/" in label for label in labels)
    return [f"{start + row:04d}" if plain else f"{start + row:04d} {label}" for row, label in enumerate(labels)]


def title_of(label: str) -> str:
    """The label without the path behind it, where it has one.

    >>> title_of("contour bat (animals/birds/contour_bat)"), title_of("🍕 pizza")
    ('contour bat', '🍕 pizza')
    """
    return PATH.sub("", label)


def save_outputs(data: DemoData, correction: Correction, summary: dict[str, Any], output: Path) -> None:
    """Writes the files, each complete or not at all, and the correction that leads to them last.

    An older correction and older ids go first: what a kill leaves of two runs is not taken for one.
    """
    for name in (f"{data.name}.unhub", TARGET_IDS, NEW_IDS):
        (output / name).unlink(missing_ok=True)
    bank, second = join_banks(data.bank, data.dev)
    parts = {
        "targets": data.test.targets,
        "queries": data.test.queries,
        "relevant": data.test.relevant,
        "query_bank": bank,
        "target_bank": second,
        "new_targets": data.unseen.targets,
    }
    for name, array in parts.items():
        with replace_file(output / f"{name}.npy") as temporary:
            np.save(temporary, array)
    _lines(output / TARGET_IDS, ids(data.test.target_labels))
    _lines(output / NEW_IDS, ids(data.unseen.target_labels, len(data.test.targets)))
    _lines(output / TEXTS["captions"], data.test.query_texts)
    _lines(output / TEXTS["bank_captions"], (*data.bank.query_texts, *data.dev.query_texts))
    _lines(output / TEXTS["target_captions"], [title_of(label) for label in data.test.target_labels])
    with replace_file(output / "results.json") as temporary:
        temporary.write_text(json.dumps(summary, indent=2, ensure_ascii=False), encoding="utf-8")
    if data.name == "clipart":
        _pictures(output / MEDIA, ids(data.test.target_labels))
    correction.save(output / f"{data.name}.unhub")


def options(output: Path) -> dict[str, str]:
    """What ``unhub report`` and ``unhub serve`` are to be given beside the correction, by name."""
    found = {name: str(output / f"{name}.npy") for name in ("targets", "queries", "relevant", "target_bank")}
    found |= {name: str(output / file) for name, file in TEXTS.items()}
    return found | ({MEDIA: str(output / MEDIA)} if (output / MEDIA).is_dir() else {})


def page_command(data: DemoData, output: Path) -> str:
    """The command, but for the program's name, that opens the page on all this."""
    given = options(output).items()
    flags = [word for name, value in given for word in (f"--{name.replace('_', '-')}", value)]
    return shlex.join(["serve", str(output / f"{data.name}.unhub"), *flags])


def _lines(path: Path, texts: Sequence[str]) -> None:
    """One line for each text, whatever is in it."""
    with replace_file(path) as temporary:
        temporary.write_text("".join(f"{' '.join(text.split()) or '-'}\n" for text in texts), encoding="utf-8")


def _pictures(folder: Path, names: Sequence[str]) -> None:
    folder.mkdir(exist_ok=True)
    drawings = Thumbnails("test")
    for row, name in enumerate(names):
        with replace_file(folder / f"{name}.webp") as temporary:
            temporary.write_bytes(drawings.thumbnail(row))
