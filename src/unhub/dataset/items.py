"""Queries and targets as people know them: ids, captions, and the files that show them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unhub.foundation.errors import InputError
from unhub.foundation.regular_files import read_regular
from unhub.foundation.wording import argument, counted
from unhub.io import read_ids

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset

TEXT = ".txt"
KINDS = {
    "image": (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"),
    "video": (".mp4", ".webm"),
    "audio": (".wav", ".mp3", ".ogg", ".oga", ".flac", ".m4a"),
}
"""endings by kind; where an item has several files, a picture goes first"""


@dataclass(frozen=True)
class Media:
    """A file that shows an item."""

    path: Path
    kind: str

    def inside(self, folder: Path) -> bool:
        """Whether the file lies in the folder, once every link on the way has been followed."""
        try:
            return self.path.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
        except (OSError, RuntimeError):
            return False


@dataclass(frozen=True)
class Items:
    """Queries or targets: their ids, their names (captions, or ids where there are none), and the files that show them.

    ids, names, media: one entry for each item; media is None for an item without a file.
    """

    ids: Sequence[str]
    names: Sequence[str]
    media: Sequence[Media | None]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def pictures(self) -> list[Path | None]:
        """The picture of each, where it has one."""
        return [each.path if each is not None and each.kind == "image" else None for each in self.media]

    def take(self, rows: Sequence[int]) -> Items:
        """Some of the items, in this order."""
        parts = ([values[row] for row in rows] for values in (self.ids, self.names, self.media))
        return Items(*parts)  # type: ignore[arg-type]  # each keeps its own type


def read_items(data: Dataset) -> tuple[Items, Items]:
    """The queries and targets of a dataset."""
    known = zip(data.shape, data._side_ids(), strict=True)
    ids = [[str(row) for row in range(size)] if each is None else list(each) for size, each in known]
    media = _read_media(data.media_folder)
    sides = []
    for what, part, own in zip(("queries", "targets"), ("captions", "target_captions"), ids, strict=True):
        source, bank = data._sources[part], data.asks_bank and what == "queries"
        names = own
        if source is not None:
            names = list(read_captions(source, f"bank_{part}" if bank else part, own, f"{'bank ' * bank}{what}"))
        elif data.correction is not None and what == "queries" and own[:1] == ["0"]:
            names = [f"{'bank ' * bank}query {row}" for row in own]
        files = [media_of(media, each) for each in own] if what == "targets" else [None] * len(own)
        sides.append(Items(own, names, files))
    return sides[0], sides[1]


def _read_media(folder: Path | None) -> Mapping[str, Media]:
    if folder is None:
        return {}
    if not folder.is_dir():
        raise InputError(
            "media", f"is {folder}, which is no folder", "name one with a picture, sound or video per target"
        )
    return media_below(folder)


def read_captions(source: Any, name: str, ids: Sequence[str], what: str) -> Sequence[str]:
    """The caption of each item: a line of text, or its id where the line is empty.

    source: a file with one caption per line, any file that holds ids, or a list. name: of the argument. what: the items
    are called in a sentence.
    """
    listed = not isinstance(source, str | os.PathLike)
    path = Path("" if listed else source).expanduser()
    if listed:
        captions: Sequence[str] = [str(each) for each in source]
    elif path.suffix.lower() == TEXT and path.is_file():
        try:
            lines = read_regular(path, name=name).decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{argument(name)}: {path} is not UTF-8 text (byte {error.start:,}); save it as UTF-8."
            ) from error
        captions = [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]
    else:
        captions = read_ids(source, name=name)
    if len(captions) != len(ids):
        raise InputError(
            name, f"has {counted(len(captions), 'line')} but there are {len(ids):,} {what}", "write one line for each"
        )
    return [caption or own for caption, own in zip(captions, ids, strict=True)]


def media_below(folder: Path) -> Mapping[str, Media]:
    """Every file of a known kind by its path, its name and, for frames of a video, its folder."""
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [Media(path, kind) for kind, endings in KINDS.items() for path in there if path.suffix.lower() in endings]
    by_name: dict[str, Media] = {}
    for each in files:
        relative = each.path.relative_to(folder)
        for key in (relative.as_posix(), relative.with_suffix("").as_posix()):
            by_name.setdefault(key, each)
    for each in files:
        for key in (each.path.name, each.path.stem, each.path.relative_to(folder).parent.as_posix()):
            by_name.setdefault(key, each)
    return by_name


def media_of(by_name: Mapping[str, Media], name: str) -> Media | None:
    """The file of an id, with or without the extension of its own file (video7.mp4 has video7.jpg)."""
    own, bare = by_name.get(name), by_name.get(name.rpartition(".")[0])
    return next((each for each in (own, bare) if each is not None and each.kind == "image"), own or bare)
