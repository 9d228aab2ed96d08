"""From a model's name or folder to an encoder: which library reads it is told by what it holds."""

from __future__ import annotations

from collections.abc import Callable

from unhub.encode import openclip, sentences, transformer
from unhub.encode.encoder import Encoder
from unhub.encode.hub import Place, failed, find_model
from unhub.encode.kinds import KINDS
from unhub.encode.runtime import Runtime, choose_runtime, offline, quiet
from unhub.foundation.errors import InputError, UnhubError

Loader = Callable[[Place, str, Runtime, int | None], Encoder]

LIBRARIES: dict[str, Loader] = {
    "sentence-transformers": sentences.load,
    "transformers": transformer.load,
    "open-clip": openclip.load,
}

_TELLING = {
    "modules.json": "sentence-transformers",
    "open_clip_config.json": "open-clip",
    "config.json": "transformers",
}


def load_encoder(
    model: str,
    kind: str,
    *,
    library: str = "auto",
    device: str | None = None,
    precision: str = "auto",
    max_length: int | None = None,
) -> Encoder:
    """The model as a function from a batch to vectors.

    model: a folder, a name on the hub, or a model of open_clip with its weights (``ViT-B-32:laion2b_s34b_b79k``).
    kind: text, image, audio or video. max_length: tokens of a text that are read.
    """
    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; choose {', '.join(KINDS)}.")
    if library not in ("auto", *LIBRARIES):
        raise InputError(f"library is {library!r}; choose auto, {', '.join(LIBRARIES)}.")
    if max_length is not None and (kind != "text" or max_length < 1):
        raise InputError(f"max_length is {max_length} for {kind}; it is the number of tokens of a text, at least 1.")
    runtime = choose_runtime(device, precision)
    place = find_model(model)
    chosen = library_of(place) if library == "auto" else library
    with quiet(), offline(place.offline):
        try:
            return LIBRARIES[chosen](place, kind, runtime, max_length)
        except (UnhubError, MemoryError):
            raise
        except Exception as error:  # somebody else's code, about somebody else's files
            raise failed(model, error) from error


def library_of(place: Place) -> str:
    """The library that a model's files are for."""
    if not place.files and ":" in place.name:
        return "open-clip"
    for file, library in _TELLING.items():
        if file in place.files:
            return library
    raise InputError(
        f"model {place.name!r} has none of {', '.join(_TELLING)}, so it is no model of {', '.join(LIBRARIES)}; give "
        f"the folder that holds them."
    )
