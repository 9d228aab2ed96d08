"""What a child process finds in an HDF5 file; run by its path with limits, see ``foundation.probing``.

It reads everything that the parent will read afterwards: groups, types, chunk indexes, and the heap of texts, in which
the HDF5 library can loop forever. It is run by itself, so it must not import anything of unhub.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

_DEFLATE, _SHUFFLE, _FLETCHER, _SZIP, _NBIT, _SCALE_OFFSET, _LZF = 1, 2, 3, 4, 5, 6, 32000
_FILTERS = (_DEFLATE, _SHUFFLE, _FLETCHER, _SZIP, _NBIT, _SCALE_OFFSET, _LZF)
_COMPRESSORS = (_DEFLATE, _SZIP, _LZF)
_RARE = (_SZIP, _NBIT, _SCALE_OFFSET)  # old code that a damaged file leads out of bounds: such data are read here first
_MOST_OBJECTS = 100_000
_BLOCK = 4096  # texts at once


def probe(path: str, ratio: int, limit: int, text: str | None = None) -> Any:
    """The datasets of a file; or the texts of one, as a flat list.

    ratio: how many times its size a compressed chunk can grow.
    limit: bytes that one chunk may become without being tried here first.
    """
    import h5py

    with h5py.File(path, "r") as file:
        if text is not None:
            return _texts(file[text])
        return [
            {"key": key.decode(errors="surrogateescape"), **_facts(h5py, h5py.Dataset(item), ratio, limit)}
            for key, item in _objects(h5py, file.id)
            if isinstance(item, h5py.h5d.DatasetID)
        ]


def _objects(h5py: Any, root: Any) -> Iterator[tuple[bytes, Any]]:
    """The objects of a file by their path, each once; only hard links are followed, and so no other file is opened."""
    here, visited = h5py.h5o.get_info(root).fileno, {h5py.h5o.get_info(root).addr}
    waiting = [(b"", root, name) for name in reversed(list(root))]
    while waiting:
        path, group, name = waiting.pop()
        if b"/" in name or name in (b"", b"."):  # HDF5 would take it for a path
            raise ValueError(f"a link in it has the name {name[:40]!r}, which can lead elsewhere")
        if group.links.get_info(name).type != h5py.h5l.TYPE_HARD:
            continue
        item = h5py.h5o.open(group, name)
        info = h5py.h5o.get_info(item)
        if info.fileno != here:
            raise ValueError("a link in it leads to another file")
        if info.addr in visited:
            continue
        visited.add(info.addr)
        if len(visited) > _MOST_OBJECTS:
            raise ValueError(f"it holds more than {_MOST_OBJECTS:,} groups and datasets")
        yield path + name, item
        if isinstance(item, h5py.h5g.GroupID):
            waiting += [(path + name + b"/", item, each) for each in reversed(list(item))]


def _facts(h5py: Any, dataset: Any, ratio: int, limit: int) -> dict[str, Any]:
    shape, kind = dataset.shape or (), dataset.attrs.get("MATLAB_class")
    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    chunks = dataset.chunks or ()
    plan = dataset.id.get_create_plist()
    described = [plan.get_filter(index) for index in range(plan.get_nfilters())]
    filters = [(int(each[0]), each[3].decode(errors="replace")) for each in described]
    facts = {
        "bytes": math.prod(shape) * dataset.dtype.itemsize,
        "chunk": math.prod(chunks) * dataset.dtype.itemsize if chunks else 0,
        "stored": dataset.id.get_storage_size(),
        "compressed": any(code in _COMPRESSORS for code, _ in filters),
        "text": is_text,
        "class": kind.decode(errors="replace") if isinstance(kind, bytes) else None if kind is None else str(kind),
        "problem": _problem(h5py, dataset, filters, is_text),
    }
    if facts["problem"] is None and chunks and not is_text:
        _try_chunks(dataset, [code for code, _ in filters], ratio, limit)
    return facts


def _problem(h5py: Any, dataset: Any, filters: list[tuple[int, str]], is_text: bool) -> str | None:
    plan = dataset.id.get_create_plist()
    if dataset.dtype.hasobject and not is_text:  # stored in the heap, as text is
        return "holds lists or references and neither numbers nor text"
    if plan.get_layout() == h5py.h5d.VIRTUAL:
        return "is put together from other files (a virtual dataset)"
    if plan.get_external_count():
        return "stores its numbers in other files (external storage)"
    for code, name in filters:
        if code not in _FILTERS:
            return f"is packed by a filter that is not read ({name or 'no name'}, number {code})"
    if sum(code in _COMPRESSORS for code, _ in filters) > 1:
        return "is compressed more than once"
    return None


def _try_chunks(dataset: Any, filters: list[int], ratio: int, limit: int) -> None:
    """Walks the whole index of chunks, and reads the chunks that could become too large for the parent."""
    is_rare, suspects = any(code in _RARE for code in filters), []

    def visit(chunk: Any) -> None:
        if is_rare or (filters and chunk.size * ratio > limit):
            suspects.append(chunk.chunk_offset)

    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(visit)
    else:  # h5py that was built with an older HDF5
        for place in range(dataset.id.get_num_chunks()):
            visit(dataset.id.get_chunk_info(place))
    for start in suspects:
        dataset[tuple(slice(low, low + length) for low, length in zip(start, dataset.chunks, strict=True))]


def _texts(dataset: Any) -> list[str]:
    """Every text; they cannot be longer together than the file, unless one is used over and over to fill memory."""
    most = dataset.file.id.get_filesize() + math.prod(dataset.shape) * dataset.dtype.itemsize
    view, total = dataset.asstr(), 0
    texts: list[str] = []
    if not dataset.shape:
        return [view[()]]
    for start in range(0, dataset.shape[0], _BLOCK):
        block = view[start : start + _BLOCK].ravel().tolist()
        total += sum(map(len, block))
        if total > most:
            raise ValueError("its texts are longer than the whole file")
        texts += block
    return texts
