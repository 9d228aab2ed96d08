"""Vectors of typed queries, from any function or from a sentence-transformers model."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray
from unhub.foundation.wording import argument, setting

VARIABLE = "UNHUB_ENCODER"


def encode(texts: list[str], encoder: str | None) -> FloatArray:
    """(text, dim) float32: one vector per text.

    encoder: ``package.module:function``, called with a list of texts; or the name or folder of a sentence-transformers
    model; the environment variable UNHUB_ENCODER by default.
    """
    named = encoder or os.environ.get(VARIABLE)
    if not named:
        raise InputError(
            f"a query in text needs the encoder that made the vectors; pass {setting('encoder', 'MODULE:FUNCTION')} or "
            f"{setting('encoder', 'MODEL')} (sentence-transformers), or set {VARIABLE}; or pass vectors: "
            f"{argument('queries')}."
        )
    function = _function(named)
    try:
        vectors = np.asarray(function(texts), dtype=np.float32)
    except Exception as error:  # code of the user
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"encoder {named!r} failed: {type(error).__name__}: {reason}.") from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(
            f"encoder {named!r} returned an array of shape {vectors.shape} for {len(texts)} texts; it must return one "
            f"row per text."
        )
    return vectors


@cache
def _function(named: str) -> Callable[[list[str]], Any]:
    module, colon, function = named.partition(":")
    if not colon or os.path.exists(named):
        model = require("sentence_transformers", extra="encode").SentenceTransformer
        try:
            encoding: Callable[[list[str]], Any] = model(named).encode
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise InputError(f"encoder {named!r} cannot be loaded: {reason}; give a model's name or folder.") from error
        return encoding
    here = os.getcwd()
    sys.path.insert(0, here)  # a module beside the user's files, as python itself would find it
    try:
        encoding = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InputError(f"encoder {named!r} cannot be imported: {error}; write it as MODULE:FUNCTION.") from error
    finally:
        sys.path.remove(here)
    return encoding
