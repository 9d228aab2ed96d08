"""The outside world of files: vectors, ids and relevance come in here, and files are written atomically."""

from unhub.foundation.atomic import replace_file
from unhub.io.bfloat16 import BrainFloats
from unhub.io.columns import read_numbers
from unhub.io.file_array import FileArray
from unhub.io.ids import read_ids
from unhub.io.labels import relevance_from_labels
from unhub.io.opening import open_rows
from unhub.io.relevance import read_relevance
from unhub.io.rows import Rows, with_ids
from unhub.io.safetensors_writing import write_safetensors
from unhub.io.tensors import TensorRows

__all__ = [
    "BrainFloats",
    "FileArray",
    "Rows",
    "TensorRows",
    "open_rows",
    "read_ids",
    "read_numbers",
    "read_relevance",
    "relevance_from_labels",
    "replace_file",
    "with_ids",
    "write_safetensors",
]
