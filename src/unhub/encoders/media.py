"""Media files as a model takes them: a picture, a waveform at its rate, evenly spaced frames, a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import gcd
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.safe_text import reason_of
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import setting

KINDS = ("text", "image", "audio", "video")
FRAMES = 8  # of a video, by default
THREADS = 4  # decoders release the interpreter lock, so a few of them keep a device busy

ENDINGS: dict[str, frozenset[str]] = {
    "text": frozenset({".txt", ".md"}),
    "image": frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".avif"}),
    "audio": frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au"}),
    "video": frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".mpg", ".mpeg", ".ts"}),
}


def kind_of(path: str | PurePath) -> str | None:
    """The kind of a file by its ending: "image" for "a.PNG"; None for an unknown ending.

    >>> kind_of("a.PNG"), kind_of("a.npy")
    ('image', None)
    """
    ending = PurePath(path).suffix.lower()
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), None)


def tower_of(kind: str) -> str:
    """The part of a model that reads this kind: a video is read as images, frame by frame."""
    return "image" if kind == "video" else kind


class BrokenFileError(InputError):
    """A file that cannot be read as its kind: the message names it, and what to do."""


def read_medium(path: Path, kind: str, *, rate: int | None = None, frames: int = FRAMES) -> Any:
    """What a model takes of one file; `BrokenFileError` if it cannot be read.

    rate: samples per second of a waveform. frames: how many of a video.
    """
    try:
        if kind == "image":  # in RGB, rotated as its EXIF data say
            with require("PIL.Image", extra="encode").open(path) as image:
                return require("PIL.ImageOps", extra="encode").exif_transpose(image).convert("RGB")
        if kind == "audio":
            return read_audio(path, rate)
        return read_frames(path, frames) if kind == "video" else path.read_text("utf-8-sig").strip()
    except UnhubError:
        raise
    except Exception as error:  # decoders raise whatever they like about a broken file
        raise _broken(path, kind, reason_of(error)) from error


def read_audio(path: Path, rate: int | None = None) -> FloatArray:
    """(sample,) float32: the mean of the channels, at ``rate`` samples per second."""
    samples, own = require("soundfile", extra="encode").read(path, dtype="float32", always_2d=True)
    if not len(samples):
        raise _broken(path, "audio", "it holds no samples")
    wave: FloatArray = samples.mean(axis=1)
    if rate is None or rate == own:
        return wave
    from scipy.signal import resample_poly

    common = gcd(rate, own)
    return np.asarray(resample_poly(wave, rate // common, own // common), dtype=np.float32)


def read_frames(path: Path, frames: int = FRAMES) -> list[Any]:
    """Pillow images: the frames in the middle of so many equal parts of the video; all, if there are fewer."""
    av = require("av", extra="encode")
    with av.open(str(path)) as film:
        if not film.streams.video:
            raise _broken(path, "video", "it holds no pictures")
        count = sum(packet.size > 0 for packet in film.demux(video=0))
    wanted = middles(count, frames)
    images: list[Any] = []
    with av.open(str(path)) as film:
        for number, frame in enumerate(film.decode(video=0)):
            if number in wanted:
                images.append(frame.to_image())
            if len(images) == len(wanted):
                break
    if not images:
        raise _broken(path, "video", "it holds no pictures")
    return images


def middles(count: int, parts: int) -> set[int]:
    """The middles of ``parts`` equal parts of ``count`` frames.

    >>> sorted(middles(100, 4)), sorted(middles(2, 4))
    ([12, 37, 62, 87], [0, 1])
    """
    return {(2 * part + 1) * count // (2 * parts) for part in range(parts)} if count else set()


def _broken(path: Path, kind: str, reason: str) -> BrokenFileError:
    return BrokenFileError(
        f"{path} cannot be read as {'an' if kind[0] in 'aei' else 'a'} {kind}: {reason}; repair or remove it, or leave "
        f"such files out with {setting('skip_broken', True)}."
    )


def read_ahead(
    values: Sequence[Any], read: Callable[[Any], Any], *, first: int, step: int
) -> Iterator[tuple[int, list[Any]]]:
    """(position of the first, values) batch by batch from ``first`` on; a broken file is given as its error."""

    def attempt(value: Any) -> Any:
        try:
            return read(value)
        except BrokenFileError as error:
            return error

    pool = ThreadPoolExecutor(THREADS)

    def begin(start: int) -> list[Future[Any]]:
        return [pool.submit(attempt, value) for value in values[start : start + step]]

    try:
        following = begin(first)
        for start in range(first, len(values), step):
            current, following = following, begin(start + step)
            yield start, [each.result() for each in current]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
