"""From a model's name or folder to an encoder: which library reads it is told by what it holds."""

from __future__ import annotations

from collections.abc import Callable

from unhub.encoders import openclip, sentences, transformer
from unhub.encoders.encoder import Encoder, Runtime, choose_runtime, offline, quiet
from unhub.encoders.hub import ModelLocation, find_model, loading_error
from unhub.encoders.media import KINDS
from unhub.foundation.errors import InputError, UnhubError

Loader = Callable[[ModelLocation, str, Runtime, int | None], Encoder]

LIBRARIES: dict[str, Loader] = {
    "sentence-transformers": sentences.load,
    "transformers": transformer.load,
    "open-clip": openclip.load,
}

_MARKERS = {
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
    kind: text, image, audio or video.
    library: sentence-transformers, transformers or open-clip; "auto" follows the files of the model.
    device: cpu, cuda, cuda:1, mps; None takes a GPU if there is one.
    precision: float32 or float16; "auto" is float16 on a GPU and float32 on a CPU.
    max_length: tokens of a text that are read; None reads as many as the model can.
    """
    if kind not in KINDS:
        raise InputError("kind", f"is {kind!r}", f"choose {', '.join(KINDS)}")
    if library not in ("auto", *LIBRARIES):
        raise InputError("library", f"is {library!r}", f"choose auto, {', '.join(LIBRARIES)}")
    if max_length is not None and (kind != "text" or max_length < 1):
        raise InputError(
            "max_length", f"is {max_length} for {kind}", "it is the number of tokens of a text, at least 1"
        )
    runtime = choose_runtime(device, precision)
    place = find_model(model)
    chosen = library_of(place) if library == "auto" else library
    with quiet(), offline(place.offline):
        try:
            return LIBRARIES[chosen](place, kind, runtime, max_length)
        except (UnhubError, MemoryError):
            raise
        except Exception as error:  # somebody else's code, about somebody else's files
            raise loading_error(model, error) from error


def library_of(place: ModelLocation) -> str:
    """The library that a model's files are for."""
    if not place.files and ":" in place.name:
        return "open-clip"
    for file, library in _MARKERS.items():
        if file in place.files:
            return library
    raise InputError(
        "model",
        f"{place.name!r} has none of {', '.join(_MARKERS)}, so it is no model of {', '.join(LIBRARIES)}",
        "give the folder that holds them",
    )
