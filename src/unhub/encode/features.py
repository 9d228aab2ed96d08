"""Texts, images and waveforms as the tensors that a model of transformers takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.encode.hub import Place
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require

ENDLESS = 1_000_000
"""a tokenizer that knows no limit says a huge number"""


@dataclass(frozen=True)
class Prepared:
    """From a batch to tensors by name; ``probe`` is a batch of one that any model takes."""

    inputs: Callable[[list[Any]], dict[str, Any]]
    probe: list[Any]
    rate: int | None = None
    max_length: int | None = None


def prepare(place: Place, tower: str, model: Any, max_length: int | None) -> Prepared:
    """What makes tensors for this part of the model: its tokenizer, image processor or feature extractor."""
    name, make = {
        "text": ("AutoTokenizer", _texts),
        "image": ("AutoImageProcessor", _images),
        "audio": ("AutoFeatureExtractor", _waves),
    }[tower]
    loader = getattr(require("transformers", extra="encode"), name)
    try:
        processor = loader.from_pretrained(place.load, local_files_only=place.folder is not None)
    except Exception as error:  # what is missing shows itself in many ways
        reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")[:200]
        raise InputError(
            f"model {place.name!r} cannot take {tower}: its {name} does not load ({reason}); choose another model, or "
            f"another kind (--kind)."
        ) from error
    return make(processor, model, place, max_length)


def _texts(tokenizer: Any, model: Any, place: Place, wanted: int | None) -> Prepared:
    length = _length(tokenizer, model)
    if wanted is not None and length is not None and wanted > length:
        raise InputError(f"max_length is {wanted}, but model {place.name!r} reads {length} tokens; pass that or less.")
    length = wanted or length
    padding = (
        "max_length" if str(model.config.model_type).startswith("siglip") and length else True
    )  # as it was trained

    def inputs(batch: list[str]) -> dict[str, Any]:
        made = tokenizer(batch, padding=padding, truncation=length is not None, max_length=length, return_tensors="pt")
        return dict(made)

    return Prepared(inputs, ["a"], max_length=length)


def _length(tokenizer: Any, model: Any) -> int | None:
    """The most tokens of a text: the smaller of what the tokenizer says and what the model has positions for."""
    config = getattr(model.config, "text_config", model.config)
    positions = getattr(config, "max_position_embeddings", None)
    tables = (getattr(module, "position_embeddings", None) for module in model.modules())
    paddings = (getattr(table, "padding_idx", None) for table in tables)
    skipped = next((each for each in paddings if each is not None), None)
    if positions is not None and skipped is not None:
        positions -= skipped + 1  # RoBERTa and its kin count positions from behind the padding
    limits = [each for each in (tokenizer.model_max_length, positions) if each is not None and 0 < each < ENDLESS]
    return int(min(limits)) if limits else None


def _images(processor: Any, model: Any, place: Place, wanted: int | None) -> Prepared:
    image = require("PIL.Image", extra="encode")

    def inputs(batch: list[Any]) -> dict[str, Any]:
        return dict(processor(images=batch, return_tensors="pt"))

    return Prepared(inputs, [image.new("RGB", (64, 64))])


def _waves(extractor: Any, model: Any, place: Place, wanted: int | None) -> Prepared:
    torch, rate = require("torch", extra="encode"), int(extractor.sampling_rate)

    def inputs(batch: list[Any]) -> dict[str, Any]:
        made = []
        for wave in batch:  # one by one: what an extractor does to a batch may depend on its neighbours
            with _same_chance():
                made.append(dict(extractor(wave, sampling_rate=rate, return_tensors="pt")))
        try:
            return {name: torch.cat([each[name] for each in made]) for name in made[0]}
        except RuntimeError as error:
            raise InputError(
                f"model {place.name!r} keeps the lengths of audio files, which differ; pass a batch of 1 (--batch 1)."
            ) from error

    return Prepared(inputs, [np.zeros(rate, dtype=np.float32)], rate=rate)


@contextmanager
def _same_chance() -> Iterator[None]:
    """A block in which NumPy's global generator starts anew: extractors cut long files at random with it."""
    state = np.random.get_state()  # noqa: NPY002  # it is the one that they use
    np.random.seed(0)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
