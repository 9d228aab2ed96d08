"""From a model's name or folder to an encoder: its files say which library reads it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from unhub.encoders import transformer
from unhub.encoders.encoder import Encoder, LoadedModel, Runtime, call_model, choose_runtime, quiet
from unhub.encoders.media import KINDS, tower_of
from unhub.encoders.model_hub import PREFIX, ModelLocation, check_length, find_model, loading_error
from unhub.foundation.errors import InputError, MissingDependencyError, UnhubError
from unhub.foundation.facade import facade
from unhub.foundation.optional import require
from unhub.foundation.safe_text import reason_of
from unhub.foundation.types import AnyArray, FloatArray
from unhub.foundation.wording import argument, setting

VARIABLE = "UNHUB_ENCODER"


@facade
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

    Returns the encoder, for `embed`.
    """
    if kind not in KINDS:
        raise InputError("kind", f"is {kind!r}", f"choose {', '.join(KINDS)}")
    if library not in ("auto", *LIBRARIES):
        raise InputError("library", f"is {library!r}", f"choose auto, {', '.join(LIBRARIES)}")
    if max_length is not None and (kind != "text" or max_length < 1):
        advice = "it is the number of tokens of a text, at least 1"
        raise InputError("max_length", f"is {max_length} for {kind}", advice)
    runtime = choose_runtime(device, precision)
    location = find_model(model)
    chosen = _library_of(location) if library == "auto" else library
    with quiet(), _offline(location.offline):
        try:
            loaded = LIBRARIES[chosen](location, kind, runtime, max_length)
        except (UnhubError, MemoryError):
            raise
        except Exception as error:  # third-party code, about third-party files
            raise loading_error(model, error) from error
    how, vectors, length, rate = loaded
    return Encoder(
        location.name, chosen, kind, how, runtime.device, runtime.precision, vectors, rate, length, location.revision
    )


@contextmanager
def _offline(wanted: bool) -> Iterator[None]:
    """A block in which the hub's client uses only what it has downloaded, if the hub cannot be reached."""
    constants = require("huggingface_hub.constants", extra="encode")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _sentence_transformers(location: ModelLocation, kind: str, runtime: Runtime, max_length: int | None) -> LoadedModel:
    """A model of sentence-transformers, with its own pooling and scaling; texts, and images where it takes them."""
    model = require("sentence_transformers", extra="encode").SentenceTransformer(
        location.load, device=runtime.device, local_files_only=location.folder is not None
    )
    takes = [each for each in getattr(model, "modalities", ["text"]) if each in ("text", "image")]  # old: text only
    if tower_of(kind) not in takes:
        raise InputError(
            "model",
            f"{location.name!r} of sentence-transformers takes {' and '.join(takes) or 'nothing known here'}, "
            f"not {tower_of(kind)}",
            f"choose another, or another {argument('library')}",
        )
    model = model.to(runtime.dtype).eval()
    length = check_length(location.name, max_length, model.get_max_seq_length()) if kind == "text" else None
    if max_length is not None:
        model.max_seq_length = max_length

    def vectors(batch: list[Any]) -> AnyArray:
        rows: AnyArray = model.encode(
            batch, batch_size=len(batch), convert_to_numpy=True, show_progress_bar=False, normalize_embeddings=False
        )
        return rows

    return LoadedModel("sentence embedding" if kind == "text" else "image embedding", vectors, length)


def _open_clip(location: ModelLocation, kind: str, runtime: Runtime, max_length: int | None) -> LoadedModel:
    """A model of open_clip: images and texts. Without weights it is refused, because they would be random."""
    if kind == "audio":
        raise InputError("model", f"{location.name!r} of open-clip takes text and image, not audio", "choose another")
    try:
        torch, library = require("torch", extra="encode"), require("open_clip", extra="encode")
    except RuntimeError as error:  # torchvision was built for another torch
        raise MissingDependencyError(
            f"open_clip cannot be imported, because torchvision does not fit torch here ({error}); install the "
            f"torchvision that was built for this torch, from the same place"
        ) from error
    name, _, weights = location.load.partition(":") if location.folder is None else (location.load, "", "")
    if location.folder is not None:
        name = f"local-dir:{location.load}"
    elif not weights:
        name = f"{PREFIX}{location.load}"
    model, transform = library.create_model_from_pretrained(name, pretrained=weights or None, device="cpu")
    model = model.to(device=runtime.device, dtype=runtime.dtype).eval()
    length = check_length(location.name, max_length, int(model.context_length)) if kind == "text" else None
    tokenizer = library.get_tokenizer(name, context_length=length) if kind == "text" else None

    def vectors(batch: list[Any]) -> AnyArray:
        with torch.inference_mode():
            if tokenizer is not None:
                features = model.encode_text(tokenizer(batch).to(runtime.device))
            else:
                pixels = torch.stack([transform(image) for image in batch])
                features = model.encode_image(pixels.to(runtime.device, runtime.dtype))
        rows: AnyArray = features.float().cpu().numpy()
        return rows

    return LoadedModel("encode_text" if kind == "text" else "encode_image", vectors, length)


LIBRARIES: dict[str, Callable[[ModelLocation, str, Runtime, int | None], LoadedModel]] = {
    "sentence-transformers": _sentence_transformers,
    "transformers": transformer.load,
    "open-clip": _open_clip,
}

_MARKERS = {
    "modules.json": "sentence-transformers",
    "open_clip_config.json": "open-clip",
    "config.json": "transformers",
}


def _library_of(location: ModelLocation) -> str:
    """The library that a model's files are for."""
    if not location.files and ":" in location.name:
        return "open-clip"
    for file, library in _MARKERS.items():
        if file in location.files:
            return library
    raise InputError(
        "model",
        f"{location.name!r} has none of {', '.join(_MARKERS)}, so it is no model of {', '.join(LIBRARIES)}",
        "give the folder that holds them",
    )


def encode_queries(texts: list[str], encoder: str | None, *, instead: str = "") -> FloatArray:
    """(text, dim) float32: one vector per typed query.

    encoder: ``package.module:function``, called with a list of texts; or the name or folder of a sentence-transformers
    model; the environment variable UNHUB_ENCODER by default. instead: what else the caller takes, for the error where
    there is none.
    """
    named = encoder or os.environ.get(VARIABLE)
    if not named:
        other = f"; or {instead}" if instead else ""
        raise InputError(
            f"a query in text needs the encoder that made the vectors; pass {setting('encoder', 'MODULE:FUNCTION')} or "
            f"{setting('encoder', 'MODEL')} (sentence-transformers), or set {VARIABLE}{other}."
        )
    return call_model(_query_function(named), texts, f"encoder {named!r}")


@cache
def _query_function(named: str) -> Callable[[list[str]], Any]:
    module, colon, name = named.partition(":")
    function: Callable[[list[str]], Any]
    if not colon or os.path.exists(named):
        model = require("sentence_transformers", extra="encode").SentenceTransformer
        try:
            function = model(named).encode
        except (OSError, ValueError) as error:
            reason = reason_of(error)
            raise InputError(f"encoder {named!r} cannot be loaded: {reason}; give a model's name or folder.") from error
        return function
    here = os.getcwd()
    sys.path.insert(0, here)  # a module next to the user's files, as python itself would find it
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"encoder {named!r} cannot be imported: {error}; write it as MODULE:FUNCTION.") from error
    finally:
        sys.path.remove(here)
    return function
