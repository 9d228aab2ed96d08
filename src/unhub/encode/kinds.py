"""What can be encoded, and the endings of its files."""

from __future__ import annotations

from pathlib import PurePath

KINDS = ("text", "image", "audio", "video")

ENDINGS: dict[str, frozenset[str]] = {
    "text": frozenset({".txt", ".md"}),
    "image": frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".avif"}),
    "audio": frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au"}),
    "video": frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".mpg", ".mpeg", ".ts"}),
}


def kind_of(path: str | PurePath) -> str | None:
    """What the ending of a file says it is: "image" of "a.PNG"; None for an ending that says nothing.

    >>> kind_of("a.PNG"), kind_of("a.npy")
    ('image', None)
    """
    ending = PurePath(path).suffix.lower()
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), None)


def tower_of(kind: str) -> str:
    """The part of a model that reads this kind: a video is read as images, frame by frame."""
    return "image" if kind == "video" else kind
