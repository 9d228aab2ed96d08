"""Where a model runs, in which precision, and without chatter."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require

PRECISIONS = ("auto", "float32", "float16")
CHATTY = ("transformers", "sentence_transformers", "open_clip", "huggingface_hub", "httpx", "httpcore", "root")


@dataclass(frozen=True)
class Runtime:
    """A device and a precision, as torch takes them."""

    device: str
    precision: str

    @property
    def dtype(self) -> Any:
        """The number type of torch."""
        return getattr(require("torch", extra="encode"), self.precision)


def choose_runtime(device: str | None, precision: str) -> Runtime:
    """The device asked for, or the best there is; float16 on a GPU and float32 elsewhere, unless one is named."""
    torch = require("torch", extra="encode")
    if precision not in PRECISIONS:
        raise InputError(f"precision is {precision!r}; choose {', '.join(PRECISIONS)}.")
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except Exception as error:  # an unknown name, or a device that torch was not built for
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")[:200]
        raise InputError(f"device {device!r} cannot be used here: {reason}; pass cpu, or leave it out.") from error
    if precision == "auto":
        precision = "float32" if device.partition(":")[0] == "cpu" else "float16"
    return Runtime(device, precision)


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which model libraries neither draw bars nor log; errors still come as exceptions."""
    loggers = [logging.getLogger(None if name == "root" else name) for name in CHATTY]
    levels = [logger.level for logger in loggers]
    bars = [
        (require("transformers.utils.logging", extra="encode"), "is_progress_bar_enabled"),
        (require("huggingface_hub.utils", extra="encode"), "are_progress_bars_disabled"),
    ]
    shown = (bars[0][0].is_progress_bar_enabled(), not bars[1][0].are_progress_bars_disabled())
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        bars[0][0].disable_progress_bar()
        bars[1][0].disable_progress_bars()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if shown[0]:
            bars[0][0].enable_progress_bar()
        if shown[1]:
            bars[1][0].enable_progress_bars()


@contextmanager
def offline(wanted: bool) -> Iterator[None]:
    """A block in which the hub's client looks at what it has only, where the hub is known to be out of reach."""
    constants = require("huggingface_hub.constants", extra="encode")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
