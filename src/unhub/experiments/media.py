"""Pictures, sounds and videos of a folder, found by the ids of the items that they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def media_below(folder: Path) -> Mapping[str, Media]:
    """Every file of a known kind by its path, its name and, for frames of a video, its folder."""
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [Media(path, kind) for kind, endings in KINDS.items() for path in there if path.suffix.lower() in endings]
    found: dict[str, Media] = {}
    for each in files:
        relative = each.path.relative_to(folder)
        for key in (relative.as_posix(), relative.with_suffix("").as_posix()):
            found.setdefault(key, each)
    for each in files:
        for key in (each.path.name, each.path.stem, each.path.relative_to(folder).parent.as_posix()):
            found.setdefault(key, each)
    return found


def media_of(found: Mapping[str, Media], name: str) -> Media | None:
    """The file of an id, with or without the extension of its own file (video7.mp4 has video7.jpg)."""
    own, bare = found.get(name), found.get(name.rpartition(".")[0])
    return next((each for each in (own, bare) if each is not None and each.kind == "image"), own or bare)
