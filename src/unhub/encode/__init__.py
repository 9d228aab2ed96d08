"""Encoders: images, audio files, video frames and texts to embedding files, with models of three libraries."""

from unhub.encode.encoder import Encoder, embed
from unhub.encode.inputs import Items, read_items
from unhub.encode.kinds import KINDS
from unhub.encode.loading import LIBRARIES, load_encoder
from unhub.encode.run import Encoded, encode_files

__all__ = ["KINDS", "LIBRARIES", "Encoded", "Encoder", "Items", "embed", "encode_files", "load_encoder", "read_items"]
