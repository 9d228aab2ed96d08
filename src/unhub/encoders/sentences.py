"""Models of sentence-transformers: texts, and images where the model takes them."""

from __future__ import annotations

from typing import Any

from unhub.encoders.encoder import Encoder, Runtime, check_length
from unhub.encoders.hub import ModelLocation
from unhub.encoders.media import tower_of
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray
from unhub.foundation.wording import argument


def load(place: ModelLocation, kind: str, runtime: Runtime, max_length: int | None) -> Encoder:
    """The model as an encoder; its own pooling and, if it has one, its own scaling are kept."""
    model = require("sentence_transformers", extra="encode").SentenceTransformer(
        place.load, device=runtime.device, local_files_only=place.folder is not None
    )
    _check_kind(model, place.name, tower_of(kind))
    model = model.to(runtime.dtype).eval()
    length = check_length(place.name, max_length, model.get_max_seq_length()) if kind == "text" else None
    if max_length is not None:
        model.max_seq_length = max_length

    def vectors(batch: list[Any]) -> AnyArray:
        rows: AnyArray = model.encode(
            batch, batch_size=len(batch), convert_to_numpy=True, show_progress_bar=False, normalize_embeddings=False
        )
        return rows

    how = "sentence embedding" if kind == "text" else "image embedding"
    return Encoder(
        place.name, "sentence-transformers", kind, how, runtime.device, runtime.precision, vectors,
        max_length=length, revision=place.revision,
    )  # fmt: skip


def _check_kind(model: Any, name: str, tower: str) -> None:
    """Refuses what the model does not take; older versions of the library cannot tell, and are asked for texts only."""
    taken = [each for each in getattr(model, "modalities", ["text"]) if each in ("text", "image")]
    if tower not in taken:
        raise InputError(
            "model",
            f"{name!r} of sentence-transformers takes {' and '.join(taken) or 'nothing known here'}, not {tower}",
            f"choose another, or another {argument('library')}",
        )
