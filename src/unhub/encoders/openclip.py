"""Models of open_clip: images and texts."""

from __future__ import annotations

from typing import Any

from unhub.encoders.encoder import Encoder, Runtime, check_length
from unhub.encoders.hub import PREFIX, ModelLocation
from unhub.foundation.errors import InputError, MissingDependencyError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray


def load(place: ModelLocation, kind: str, runtime: Runtime, max_length: int | None) -> Encoder:
    """The model as an encoder; a folder or name without weights is refused, since they would be random."""
    if kind == "audio":
        raise InputError("model", f"{place.name!r} of open-clip takes text and image, not audio", "choose another")
    torch, library = require("torch", extra="encode"), _library()
    name, _, weights = place.load.partition(":") if place.folder is None else (place.load, "", "")
    if place.folder is not None:
        name = f"local-dir:{place.load}"
    elif not weights:
        name = f"{PREFIX}{place.load}"
    model, transform = library.create_model_from_pretrained(name, pretrained=weights or None, device="cpu")
    model = model.to(device=runtime.device, dtype=runtime.dtype).eval()
    length = check_length(place.name, max_length, int(model.context_length)) if kind == "text" else None
    tokenizer = library.get_tokenizer(name, context_length=length) if kind == "text" else None

    def vectors(batch: list[Any]) -> AnyArray:
        with torch.inference_mode():
            if tokenizer is not None:
                made = model.encode_text(tokenizer(batch).to(runtime.device))
            else:
                pixels = torch.stack([transform(image) for image in batch])
                made = model.encode_image(pixels.to(runtime.device, runtime.dtype))
        rows: AnyArray = made.float().cpu().numpy()
        return rows

    how = "encode_text" if kind == "text" else "encode_image"
    return Encoder(
        place.name, "open-clip", kind, how, runtime.device, runtime.precision, vectors,
        max_length=length, revision=place.revision,
    )  # fmt: skip


def _library() -> Any:
    try:
        return require("open_clip", extra="encode")
    except RuntimeError as error:  # torchvision says so when it was built for another torch
        raise MissingDependencyError(
            f"open_clip cannot be imported, because torchvision does not fit torch here ({error}); install the "
            f"torchvision that was built for this torch, from the same place"
        ) from error
