"""Models of transformers: dual encoders by their get_*_features, others by their pooled output or first token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.encoders.encoder import LoadedModel, Runtime
from unhub.encoders.media import tower_of
from unhub.encoders.model_hub import ModelLocation, check_length
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.safe_text import reason_of
from unhub.foundation.types import AnyArray
from unhub.foundation.wording import argument, setting

TOWERS = ("text", "image", "audio")
ENDLESS = 1_000_000  # a tokenizer without a limit says a huge number


@dataclass(frozen=True)
class Preprocessor:
    """From a batch to tensors by name; ``probe`` is a batch of one that any model takes."""

    inputs: Callable[[list[Any]], dict[str, Any]]
    probe: list[Any]
    rate: int | None = None
    max_length: int | None = None


def _preprocessor(location: ModelLocation, tower: str, model: Any, max_length: int | None) -> Preprocessor:
    """The preprocessing of this part of the model: its tokenizer, image processor or feature extractor."""
    name = {"text": "AutoTokenizer", "image": "AutoImageProcessor", "audio": "AutoFeatureExtractor"}[tower]
    loader = getattr(require("transformers", extra="encode"), name)
    try:
        processor = loader.from_pretrained(location.load, local_files_only=location.folder is not None)
    except Exception as error:  # a missing file shows itself in many ways
        reason = reason_of(error).partition(". ")[0]
        raise InputError(
            "model",
            f"{location.name!r} cannot take {tower}: its {name} does not load ({reason})",
            f"choose another, or another {argument('kind')}",
        ) from error
    if tower == "text":
        return _texts(processor, model, location.name, max_length)
    if tower == "audio":
        return _waves(processor, location.name)
    image = require("PIL.Image", extra="encode").new("RGB", (64, 64))
    return Preprocessor(lambda batch: dict(processor(images=batch, return_tensors="pt")), [image])


def _texts(tokenizer: Any, model: Any, name: str, max_length: int | None) -> Preprocessor:
    length = check_length(name, max_length, _length(tokenizer, model))
    siglip = str(model.config.model_type).startswith("siglip")
    padding = "max_length" if siglip and length else True  # as it was trained

    def inputs(batch: list[str]) -> dict[str, Any]:
        truncation = length is not None
        return dict(tokenizer(batch, padding=padding, truncation=truncation, max_length=length, return_tensors="pt"))

    return Preprocessor(inputs, ["a"], max_length=length)


def _length(tokenizer: Any, model: Any) -> int | None:
    """The most tokens of a text: the smaller of what the tokenizer says and what the model has positions for."""
    config = getattr(model.config, "text_config", model.config)
    positions = getattr(config, "max_position_embeddings", None)
    tables = (getattr(module, "position_embeddings", None) for module in model.modules())
    paddings = (getattr(table, "padding_idx", None) for table in tables)
    skipped = next((each for each in paddings if each is not None), None)
    if positions is not None and skipped is not None:
        positions -= skipped + 1  # RoBERTa and similar models count positions after the padding
    limits = [each for each in (tokenizer.model_max_length, positions) if each is not None and 0 < each < ENDLESS]
    return int(min(limits)) if limits else None


def _waves(extractor: Any, name: str) -> Preprocessor:
    torch, rate = require("torch", extra="encode"), int(extractor.sampling_rate)

    def inputs(batch: list[Any]) -> dict[str, Any]:
        features = []
        for wave in batch:  # one by one: in a batch, an item may depend on its neighbours
            with _fixed_seed():
                features.append(dict(extractor(wave, sampling_rate=rate, return_tensors="pt")))
        try:
            return {key: torch.cat([each[key] for each in features]) for key in features[0]}
        except RuntimeError as error:
            raise InputError(
                f"model {name!r} keeps the lengths of audio files, which differ; pass {setting('batch', 1)}."
            ) from error

    return Preprocessor(inputs, [np.zeros(rate, dtype=np.float32)], rate=rate)


@contextmanager
def _fixed_seed() -> Iterator[None]:
    """A block in which NumPy's global generator has a fixed seed: extractors use it to cut long files at random."""
    state = np.random.get_state()  # noqa: NPY002  # it is the one that they use
    np.random.seed(0)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def load(location: ModelLocation, kind: str, runtime: Runtime, max_length: int | None) -> LoadedModel:
    """The model; ``how`` says which of its outputs is the vector."""
    model, missing = _model(location)
    tower = tower_of(kind)
    takes = [each for each in TOWERS if hasattr(model, f"get_{each}_features")]
    if takes and tower not in takes:
        raise InputError(
            "model",
            f"{location.name!r} is a {type(model).__name__}, which takes {' and '.join(takes)}, not {tower}",
            f"choose another, or another {argument('kind')}",
        )
    model = model.to(device=runtime.device, dtype=runtime.dtype).eval()
    prepared = _preprocessor(location, tower, model, max_length)
    torch = require("torch", extra="encode")

    def outputs(batch: list[Any], forward: Callable[..., Any]) -> tuple[Any, dict[str, Any]]:
        inputs = {name: _to_device(each, runtime) for name, each in prepared.inputs(batch).items()}
        with torch.inference_mode():
            return forward(**inputs), inputs

    how = f"get_{tower}_features"
    forward = getattr(model, how, model)
    if forward is model:
        how = _pooling(tower, outputs(prepared.probe, model)[0], missing)
    read = POOLINGS.get(how, _features)

    def vectors(batch: list[Any]) -> AnyArray:
        rows: AnyArray = read(*outputs(batch, forward)).float().cpu().numpy()
        return rows

    return LoadedModel(how, vectors, prepared.max_length, prepared.rate)


def _model(location: ModelLocation) -> tuple[Any, list[str]]:
    """The model, and the weights of a pooling layer that its files lack; any other missing weight is refused."""
    models = require("transformers", extra="encode").AutoModel
    model, info = models.from_pretrained(
        location.load, output_loading_info=True, local_files_only=location.folder is not None
    )
    missing = sorted(info["missing_keys"])
    dual = any(hasattr(model, f"get_{tower}_features") for tower in TOWERS)
    lost = [name for name in missing if dual or "pooler" not in name]
    if lost:
        raise InputError(
            "model",
            f"{location.name!r} lacks {len(lost):,} of its weights, such as {lost[0]!r}, which would be random",
            "take files that have them",
        )
    return model, missing


def _to_device(value: Any, runtime: Runtime) -> Any:
    """A tensor on the device; numbers with a fraction in the model's precision."""
    return value.to(runtime.device, runtime.dtype) if value.is_floating_point() else value.to(runtime.device)


def _pooling(tower: str, output: Any, missing: list[str]) -> str:
    """How a model that has no get_*_features is read: never by a pooling layer whose weights are random."""
    if tower == "text":
        return "mean of the tokens"
    if getattr(output, "pooler_output", None) is not None and not missing:
        return "pooler_output"
    return "first token (CLS)" if tower == "image" else "mean over time"


def _features(output: Any, inputs: dict[str, Any]) -> Any:
    """The rows themselves in older versions, the pooled output of an object in newer ones."""
    pooled = getattr(output, "pooler_output", None)
    return output if pooled is None else pooled


def _mean_of_tokens(output: Any, inputs: dict[str, Any]) -> Any:
    hidden, mask = output.last_hidden_state, inputs["attention_mask"].unsqueeze(-1)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


POOLINGS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "mean of the tokens": _mean_of_tokens,
    "pooler_output": lambda output, inputs: output.pooler_output.flatten(1),
    "first token (CLS)": lambda output, inputs: output.last_hidden_state[:, 0],
    "mean over time": lambda output, inputs: output.last_hidden_state.mean(dim=1),
}
