"""From inputs to an embedding file: in batches, with ids, and resumable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unhub.encoders.encoder import BATCH, Encoder, InvalidVectorError, embed, quiet
from unhub.encoders.inputs import Items, read_items
from unhub.encoders.loading import load_encoder
from unhub.encoders.media import FRAMES, BrokenFileError, read_ahead, read_medium
from unhub.encoders.parts import Parts, ids_beside, refuse_links
from unhub.foundation.errors import InputError
from unhub.foundation.facade import facade, warn
from unhub.foundation.file_lock import locked
from unhub.foundation.pairing import record_beside
from unhub.foundation.regular_files import stamp_at
from unhub.foundation.types import Progress
from unhub.foundation.wording import argument, setting


@dataclass(frozen=True)
class Encoded:
    """What was written: (rows, dim) float32 in ``output``, ids in ``ids``; how; and which ids were skipped.

    resumed: items that an earlier, interrupted run had finished. notes: what the user should know.
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
    notes: tuple[str, ...] = ()


@facade
def encode(
    source: str | os.PathLike[str],
    *,
    model: str,
    output: str | os.PathLike[str],
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
    """Embeddings of images, audio files, videos or texts, written to ``output`` with their ids next to it.

    source: a folder, a pattern such as ``shots/*.png``, one media file, a ``.txt`` with one text or path in each line,
        or a ``.jsonl``, ``.csv`` or ``.tsv`` table.
    model: a folder, a name on the hub, or a model of open_clip with its weights (``ViT-B-32:laion2b_s34b_b79k``).
    output: the file to write, which ends in .npy; ids go to ``.ids.txt`` next to it.
    kind: text, image, audio or video; "auto", the default, follows the endings of the files.
    library: sentence-transformers, transformers or open-clip; "auto", the default, follows the files of the model.
    column: the column of a table that holds the texts or paths; None takes one with a usual name.
    ids: the column of a table that holds the ids, or the ids themselves (`unhub.io.read_ids` reads a file of them).
    device: cpu, cuda, cuda:1, mps; None takes a GPU if there is one.
    precision: float32 or float16; "auto", the default, is float16 on a GPU and float32 on a CPU.
    batch: how many items the model gets at once; 32 by default.
    max_length: tokens of a text that are read; None reads as many as the model can.
    frames: how many evenly spaced frames represent a video; its vector is their mean; 8 by default.
    unit: whether rows are scaled to length one; True by default.
    skip_broken: skip files that cannot be read, and list them; by default the first one is an error.
    progress: called with the name of the work, items done and items in all.

    Returns an `Encoded`: the files, their shape, the encoder and what was skipped. Finished batches stay in
    ``output.part`` until all are done: after an interruption the same call resumes. A record (``.encoded.json``) says
    which ids belong to which vectors, and readers refuse others.
    """
    target = _target(output, source)
    for name, value in (("batch", batch), ("frames", frames)):
        if value < 1:
            raise InputError(name, f"is {value}", "it is at least 1")
    items = read_items(source, kind=kind, column=column, ids=ids, out=target)
    encoder = load_encoder(
        model, items.kind, library=library, device=device, precision=precision, max_length=max_length
    )
    settings = encoder.settings() | {"unit": unit} | ({"frames": frames} if items.kind == "video" else {})
    parts = Parts(target.with_name(f"{target.name}.part"), settings, _marks(items))
    busy = f"another process is writing {target}; wait for it, or choose another {argument('output')}."
    with locked(target.with_name(f"{target.name}.lock"), busy) as notes:
        warn(notes)
        resumed = parts.open()
        if not skip_broken and (missing := parts.skipped()):
            raise InputError(
                f"{parts.folder} was begun with {setting('skip_broken', True)} and skipped {missing:,} of {resumed:,} "
                f"inputs; pass that again, or remove it to begin again."
            )
        try:
            _fill(parts, items, encoder, batch, frames, unit, skip_broken, progress)
        finally:
            parts.write()
        (rows, dim), encoded = parts.finish(target, items.ids)
    done = set(encoded.tolist())
    skipped = tuple(name for item, name in enumerate(items.ids) if item not in done)
    return Encoded(target, ids_beside(target), rows, dim, items.kind, encoder, unit, skipped, resumed, notes)


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
    """Encodes the items that are not finished yet."""

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
            except InvalidVectorError as error:
                raise InvalidVectorError(encoder, error.place, items.ids[first + whole[error.place]]) from None
            parts.add(rows, np.array(whole, dtype=np.int64) + first, first + len(values))
        if progress is not None:
            progress(f"encoding {items.kind}", first + len(values), len(items))


def _target(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(out)))
    if target.suffix.lower() != ".npy":
        raise InputError("output", f"is {os.fspath(out)!r}", "embeddings are written to a file that ends in .npy")
    if not target.absolute().parent.is_dir():
        raise InputError(f"cannot write {target}: there is no folder {target.parent}; make it first.")
    refuse_links(ids_beside(target), record_beside(target))  # the user has not named them, and they are replaced
    ids, read = ids_beside(target), Path(os.path.expanduser(os.fspath(source)))
    if ids.exists() and read.exists() and os.path.samefile(ids, read):
        raise InputError("output", f"puts the ids into {ids}, which is the input and would be lost", "choose another")
    return target


def _marks(items: Items) -> list[str]:
    """One text for each item that changes when it does: its id and its text, or the size and time of its file."""
    marks = []
    for name, value in zip(items.ids, items.values, strict=True):
        if isinstance(value, str):
            marks.append(f"{name}\n{value}")
        else:
            size, time = stamp_at(value).version
            marks.append(f"{name}\n{size} {time}")
    return marks
