"""The few transforms of torchvision that open_clip uses, for where torchvision is missing or does not fit torch.

A torchvision that was built for another torch cannot even be imported, and takes transformers with it. open_clip needs
its transforms only, so the tests of open_clip can do without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image


class InterpolationMode(Enum):
    BILINEAR = Image.Resampling.BILINEAR
    BICUBIC = Image.Resampling.BICUBIC


class Compose:
    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


class Resize:
    """The shorter side becomes ``size``."""

    def __init__(self, size: int, interpolation: InterpolationMode = InterpolationMode.BILINEAR, **other: Any) -> None:
        self.size, self.interpolation = size, interpolation

    def __call__(self, image: Any) -> Any:
        scale = self.size / min(image.size)
        return image.resize([max(self.size, round(side * scale)) for side in image.size], self.interpolation.value)


class CenterCrop:
    def __init__(self, size: Any) -> None:
        self.height, self.width = (size, size) if isinstance(size, int) else size

    def __call__(self, image: Any) -> Any:
        left, top = (image.width - self.width) // 2, (image.height - self.height) // 2
        return image.crop((left, top, left + self.width, top + self.height))


class ToTensor:
    def __call__(self, image: Any) -> Any:
        return to_tensor(image)


class Normalize:
    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def __call__(self, tensor: Any) -> Any:
        return (tensor - self.mean) / self.std


def to_tensor(image: Any) -> Any:
    return torch.from_numpy(np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255)


class NotUsed:
    """What open_clip imports for training."""


@contextmanager
def torchvision() -> Iterator[None]:
    """A block in which ``torchvision`` is this file; nothing of it stays behind but what was imported from it."""
    transformers.utils.is_torchvision_available()  # kept: transformers must not take this for the real one
    modules = {name: ModuleType(name) for name in NAMES}
    for name, holds in NAMES.items():
        modules[name].__dict__.update(holds)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, modules[name])
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torchvision"}
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


TRANSFORMS = {each.__name__: each for each in (InterpolationMode, Compose, Resize, CenterCrop, ToTensor, Normalize)}
TRAINING = dict.fromkeys(("RandomResizedCrop", "ColorJitter", "Grayscale"), NotUsed)
NAMES: dict[str, dict[str, Any]] = {
    "torchvision": {},
    "torchvision.transforms": TRANSFORMS | TRAINING,
    "torchvision.transforms.functional": {"to_tensor": to_tensor},
    "torchvision.ops": {},
    "torchvision.ops.misc": {"FrozenBatchNorm2d": NotUsed},
}
