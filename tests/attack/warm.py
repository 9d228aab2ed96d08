"""Imports everything that a command may need, once, so that each child begins where a command begins to work."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path

LIGHT = ("numpy", "scipy.io", "scipy.sparse", "safetensors.numpy", "faiss", "rich.console", "rich.progress")
READERS = ("h5py", "zarr", "pyarrow.parquet", "pyarrow.feather", "pyarrow.ipc", "yaml")
DRAWING = ("matplotlib.pyplot", "jinja2", "PIL.Image", "ot", "sklearn.manifold")
MODELS = ("torch", "transformers", "sentence_transformers")


def one_thread() -> None:
    """Asks numerical libraries for one thread; a fork keeps only the thread that forks."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.pop("CI", None)  # a command under attack knows nothing of tests


def imported(*groups: tuple[str, ...]) -> None:
    """Imports unhub whole, and packages of these groups that are there."""
    beside = str(Path(__file__).parents[1])
    if beside not in sys.path:
        sys.path.insert(0, beside)
    import unhub

    for each in pkgutil.walk_packages(unhub.__path__, "unhub."):
        importlib.import_module(each.name)
    for name in (name for group in (LIGHT, *groups) for name in group):
        importlib.import_module(name)
