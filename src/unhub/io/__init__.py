"""The outside world of files: vectors, ids and relevance come in here, and files are written atomically."""

from unhub.foundation.atomic import replace_file
from unhub.io.arrays import TensorRows
from unhub.io.file_array import BrainFloats, FileArray
from unhub.io.ids import Ids, read_ids, read_numbers
from unhub.io.relevance import read_relevance, relevance_from_labels
from unhub.io.rows import Rows, open_rows, with_ids
from unhub.io.safetensors_file import write_safetensors

__all__ = [
    "BrainFloats",
    "FileArray",
    "Ids",
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
