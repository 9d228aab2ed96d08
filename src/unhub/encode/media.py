"""Media files as what a model takes: a picture, a waveform at its rate, evenly spaced frames, a text."""

from __future__ import annotations

from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray

FRAMES = 8
"""frames of a video, unless another number is asked for"""


class BrokenFileError(InputError):
    """A file that cannot be read as what it should be: the message names it, and what to do."""


def read_medium(path: Path, kind: str, *, rate: int | None = None, frames: int = FRAMES) -> Any:
    """What a model takes of one file; `BrokenFileError` if it cannot be read.

    rate: samples a second of a waveform. frames: how many of a video.
    """
    try:
        if kind == "image":
            return read_image(path)
        if kind == "audio":
            return read_audio(path, rate)
        return read_frames(path, frames) if kind == "video" else path.read_text("utf-8-sig").strip()
    except UnhubError:
        raise
    except Exception as error:  # decoders raise whatever they like about a broken file
        raise _broken(path, kind, _reason(error)) from error


def read_image(path: Path) -> Any:
    """A Pillow image in RGB, turned the way that its camera noted."""
    image, turning = require("PIL.Image", extra="encode"), require("PIL.ImageOps", extra="encode")
    with image.open(path) as opened:
        return turning.exif_transpose(opened).convert("RGB")


def read_audio(path: Path, rate: int | None = None) -> FloatArray:
    """(sample,) float32: the mean of the channels, at ``rate`` samples a second."""
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
    taken = []
    with av.open(str(path)) as film:
        for number, frame in enumerate(film.decode(video=0)):
            if number in wanted:
                taken.append(frame.to_image())
            if len(taken) == len(wanted):
                break
    if not taken:
        raise _broken(path, "video", "it holds no pictures")
    return taken


def middles(count: int, parts: int) -> set[int]:
    """The middles of ``parts`` equal parts of ``count`` frames.

    >>> sorted(middles(100, 4)), sorted(middles(2, 4))
    ([12, 37, 62, 87], [0, 1])
    """
    return {(2 * part + 1) * count // (2 * parts) for part in range(parts)} if count else set()


def _broken(path: Path, kind: str, reason: str) -> BrokenFileError:
    return BrokenFileError(
        f"{path} cannot be read as {'an' if kind[0] in 'aei' else 'a'} {kind}: {reason}; repair or remove it, or leave "
        f"such files out with skip_broken (--skip-broken)."
    )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]}..."
