"""Models of transformers: dual encoders by their get_*_features, others by their pooled output or first token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unhub.encode.encoder import Encoder
from unhub.encode.features import prepare
from unhub.encode.hub import Place
from unhub.encode.kinds import tower_of
from unhub.encode.runtime import Runtime
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray

TOWERS = ("text", "image", "audio")


def load(place: Place, kind: str, runtime: Runtime, max_length: int | None) -> Encoder:
    """The model as an encoder; ``how`` says which of its outputs is the vector."""
    model, missing = _model(place)
    tower = tower_of(kind)
    _check_tower(model, place.name, tower)
    model = model.to(device=runtime.device, dtype=runtime.dtype).eval()
    prepared = prepare(place, tower, model, max_length)
    torch = require("torch", extra="encode")

    def outputs(batch: list[Any], forward: Callable[..., Any]) -> tuple[Any, dict[str, Any]]:
        inputs = {name: _moved(each, runtime) for name, each in prepared.inputs(batch).items()}
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

    return Encoder(
        place.name, "transformers", kind, how, runtime.device, runtime.precision, vectors,
        rate=prepared.rate, max_length=prepared.max_length, revision=place.revision,
    )  # fmt: skip


def _model(place: Place) -> tuple[Any, list[str]]:
    """The model, and the weights of a pooling layer that its files do not have; any other missing weight is refused."""
    models = require("transformers", extra="encode").AutoModel
    model, info = models.from_pretrained(
        place.load, output_loading_info=True, local_files_only=place.folder is not None
    )
    missing = sorted(info["missing_keys"])
    dual = any(hasattr(model, f"get_{tower}_features") for tower in TOWERS)
    lost = [name for name in missing if dual or "pooler" not in name]
    if lost:
        raise InputError(
            f"model {place.name!r} lacks {len(lost):,} of its weights, such as {lost[0]!r}, which would be random; "
            f"take files that have them."
        )
    return model, missing


def _check_tower(model: Any, name: str, tower: str) -> None:
    taken = [each for each in TOWERS if hasattr(model, f"get_{each}_features")]
    if taken and tower not in taken:
        raise InputError(
            f"model {name!r} is a {type(model).__name__}, which takes {' and '.join(taken)}, not {tower}; choose "
            f"another model, or another kind (--kind)."
        )


def _moved(value: Any, runtime: Runtime) -> Any:
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
