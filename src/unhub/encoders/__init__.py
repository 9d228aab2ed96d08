"""Embedding files from images, audio files, video frames and texts, with models of three libraries."""

from unhub.encoders.encoder import Encoder, embed
from unhub.encoders.inputs import Items, read_items, read_texts
from unhub.encoders.loading import LIBRARIES, load_encoder
from unhub.encoders.media import KINDS
from unhub.encoders.run import Encoded, encode

__all__ = [
    "KINDS",
    "LIBRARIES",
    "Encoded",
    "Encoder",
    "Items",
    "embed",
    "encode",
    "load_encoder",
    "read_items",
    "read_texts",
]
