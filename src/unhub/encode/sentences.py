"""Models of sentence-transformers: texts, and images where the model takes them."""

from __future__ import annotations

from typing import Any

from unhub.encode.encoder import Encoder
from unhub.encode.hub import Place
from unhub.encode.kinds import tower_of
from unhub.encode.runtime import Runtime
from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import AnyArray


def load(place: Place, kind: str, runtime: Runtime, max_length: int | None) -> Encoder:
    """The model as an encoder; its own pooling and, if it has one, its own scaling are kept."""
    model = require("sentence_transformers", extra="encode").SentenceTransformer(
        place.load, device=runtime.device, local_files_only=place.folder is not None
    )
    _check_kind(model, place.name, tower_of(kind))
    model = model.to(runtime.dtype).eval()
    length = _length(model, place.name, max_length) if kind == "text" else None

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
            f"model {name!r} of sentence-transformers takes {' and '.join(taken) or 'nothing that is known here'}, not "
            f"{tower}; choose another model, or another library (--library)."
        )


def _length(model: Any, name: str, wanted: int | None) -> int | None:
    """The tokens that are read of a text: what is wanted, if the model has room for it."""
    most: int | None = model.get_max_seq_length()
    if wanted is None:
        return most
    if most is not None and wanted > most:
        raise InputError(f"max_length is {wanted}, but model {name!r} reads at most {most} tokens; pass that or less.")
    model.max_seq_length = wanted
    return wanted
