"""From inputs to an embedding file: in batches, with ids, and going on after an interruption."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unhub.encode.encoder import BATCH, Encoder, UselessVectorError, embed
from unhub.encode.inputs import Items, read_items
from unhub.encode.loading import load_encoder
from unhub.encode.media import FRAMES, BrokenFileError, read_medium
from unhub.encode.parts import Parts, ids_beside, refuse_links
from unhub.encode.reading import read_ahead
from unhub.encode.runtime import quiet
from unhub.foundation.errors import InputError
from unhub.foundation.file_lock import locked
from unhub.foundation.pairing import record_beside

Progress = Callable[[str, int, int], None]
"""called with the name of the work, items done so far and items in all"""


@dataclass(frozen=True)
class Encoded:
    """What was written: (rows, dim) float32 in ``output``, ids in ``ids``; how; and what was left out.

    resumed: items that an earlier, interrupted run had finished.
    """

    output: Path
    ids: Path
    rows: int
    dim: int
    kind: str
    encoder: Encoder
    unit: bool
    skipped: tuple[str, ...] = ()
    resumed: int = 0


def encode_files(
    source: str | os.PathLike[str],
    *,
    model: str,
    out: str | os.PathLike[str],
    kind: str = "auto",
    library: str = "auto",
    column: str | None = None,
    ids: str | Sequence[str] | None = None,
    device: str | None = None,
    precision: str = "auto",
    batch: int = BATCH,
    max_length: int | None = None,
    frames: int = FRAMES,
    unit: bool = True,
    skip_broken: bool = False,
    progress: Progress | None = None,
) -> Encoded:
    """The embeddings of a folder, pattern, list or table, written to ``out`` (.npy) with the ids beside it.

    source, kind, column, ids: as in `read_items`. model, library, device, precision, max_length: as in `load_encoder`.
    Finished batches are kept in ``out.part``; the same call goes on from them, wherever it was stopped. A record beside
    the two files (``X.encoded.json``) says which ids belong to which vectors, and readers refuse others. A broken file
    is an error that names it, or is left out and counted with ``skip_broken``.
    """
    target = _target(out, source)
    for name, value in (("batch", batch), ("frames", frames)):
        if value < 1:
            raise InputError(f"{name} is {value}; it is at least 1.")
    items = read_items(source, kind=kind, column=column, ids=ids, out=target)
    encoder = load_encoder(
        model, items.kind, library=library, device=device, precision=precision, max_length=max_length
    )
    settings = encoder.settings() | {"unit": unit} | ({"frames": frames} if items.kind == "video" else {})
    parts = Parts(target.with_name(f"{target.name}.part"), settings, _marks(items))
    busy = f"another process is writing {target}; wait until it is done, or choose another -o."
    with locked(target.with_name(f"{target.name}.lock"), busy):
        resumed = parts.open()
        if not skip_broken and (missing := parts.left_out()):
            raise InputError(
                f"{parts.folder} was begun with skip_broken and has left out {missing:,} of {resumed:,} inputs; give "
                f"skip_broken (--skip-broken) again, or remove it to begin again."
            )
        try:
            _fill(parts, items, encoder, batch, frames, unit, skip_broken, progress)
        finally:
            parts.write()
        (rows, dim), kept = parts.finish(target, items.ids)
    left_out = sorted(set(range(len(items))) - set(kept.tolist()))
    skipped = tuple(items.ids[item] for item in left_out)
    return Encoded(target, ids_beside(target), rows, dim, items.kind, encoder, unit, skipped, resumed)


def _fill(
    parts: Parts,
    items: Items,
    encoder: Encoder,
    batch: int,
    frames: int,
    unit: bool,
    skip_broken: bool,
    progress: Progress | None,
) -> None:
    """Encodes what is not finished yet."""

    def read(value: Any) -> Any:
        return value if isinstance(value, str) else read_medium(value, items.kind, rate=encoder.rate, frames=frames)

    step = max(1, batch // frames) if items.kind == "video" else batch
    if progress is not None:
        progress(f"encoding {items.kind}", parts.done, len(items))
    for first, values in read_ahead(items.values, read, first=parts.done, step=step):
        broken = next((value for value in values if isinstance(value, BrokenFileError)), None)
        if broken is not None and not skip_broken:
            raise broken
        whole = [at for at, value in enumerate(values) if not isinstance(value, BrokenFileError)]
        if whole:
            try:
                with quiet():
                    rows = embed(encoder, [values[at] for at in whole], batch=batch, unit=unit)
            except UselessVectorError as error:
                raise UselessVectorError(encoder, error.place, items.ids[first + whole[error.place]]) from None
            parts.add(rows, np.array(whole, dtype=np.int64) + first, first + len(values))
        if progress is not None:
            progress(f"encoding {items.kind}", first + len(values), len(items))


def _target(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(out)))
    if target.suffix.lower() != ".npy":
        raise InputError(f"out is {os.fspath(out)!r}; embeddings are written to a file that ends in .npy.")
    if not target.absolute().parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; make it first.")
    refuse_links(ids_beside(target), record_beside(target))  # which nobody named, and which are replaced
    ids, read = ids_beside(target), Path(os.path.expanduser(os.fspath(source)))
    if ids.exists() and read.exists() and os.path.samefile(ids, read):
        raise InputError(f"the ids would be written to {ids}, which is the input and would be lost; choose another -o.")
    return target


def _marks(items: Items) -> list[str]:
    """One text for each item that changes when it does: its id and the text, or the state of its file."""
    marks = []
    for name, value in zip(items.ids, items.values, strict=True):
        if isinstance(value, str):
            marks.append(f"{name}\n{value}")
        else:
            state = value.stat()
            marks.append(f"{name}\n{state.st_size} {state.st_mtime_ns}")
    return marks
