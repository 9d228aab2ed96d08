"""What is to be encoded: a folder, a pattern, one file, lines of text, or a column of a table; each item has an id."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unhub.encode.kinds import ENDINGS, KINDS, kind_of
from unhub.encode.parts import ids_beside
from unhub.encode.tables import TABLES, read_lines, read_table
from unhub.foundation.errors import InputError

MAGIC = ("*", "?", "[")
DRAFTED = 32
"""letters of a name that a temporary file of it shows at least, after a dot"""


@dataclass(frozen=True)
class Items:
    """Things of one kind, in order, and the id of each: texts as they are, or the paths of files."""

    kind: str
    values: tuple[str | Path, ...]
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)


def read_items(
    source: str | os.PathLike[str],
    *,
    kind: str = "auto",
    column: str | None = None,
    ids: str | Sequence[str] | None = None,
    out: Path | None = None,
) -> Items:
    """The items of a source, with ids that are unique.

    source: a folder (every file of the kind in it, ids are their paths inside), a pattern such as ``shots/*.png``, one
    media file, a ``.txt`` with one text or one path in each line, or a ``.jsonl``, ``.csv`` or ``.tsv`` with a column
    of texts or paths. column: its name, if it is no usual one. ids: the name of the column of ids, or the ids. out:
    where the embeddings will be; the ids beside it are no input, in whatever folder they are.
    """
    if kind not in ("auto", *KINDS):
        raise InputError(f"kind is {kind!r}; choose auto, {', '.join(KINDS)}.")
    path = Path(os.path.expanduser(os.fspath(source)))
    if path.suffix.lower() in TABLES and path.is_file():
        texts, own = read_table(path, column, ids if isinstance(ids, str) else None)
        found = _listed(path, texts, own, kind)
    elif column is not None or isinstance(ids, str):
        named = f"column {column!r}" if column is not None else f"ids {ids!r}"
        raise InputError(f"{named}: {path} is not a .jsonl, .csv or .tsv file, so it has no columns.")
    elif path.suffix.lower() == ".txt" and path.is_file():
        found = _listed(path, read_lines(path), None, kind)
    else:
        found = _files(path, kind, out)
    return _named(found, path, None if isinstance(ids, str) else ids)


def _files(path: Path, kind: str, out: Path | None) -> Items:
    """The files of a folder or a pattern, or one file, in the order of their names."""
    root, files = path.parent, [path]
    if path.is_dir():
        root, files = path, [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    elif not path.exists() and any(sign in str(path) for sign in MAGIC):
        files = [Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name)]
        while any(sign in str(root) for sign in MAGIC):
            root = root.parent
    elif not path.exists():
        raise InputError(f"there is no file or folder {path}; check the path.")
    files = [file for file in files if out is None or not _is_output(file, out)]
    kinds = Counter(found for found in map(kind_of, files) if found is not None)
    chosen = _only_kind(kinds, path) if kind == "auto" else kind
    of_kind = sorted(file for file in files if file.suffix.lower() in ENDINGS[chosen])
    if not of_kind:
        raise InputError(f"{path} has no {chosen} file; their names end in {', '.join(sorted(ENDINGS[chosen]))}.")
    return Items(chosen, tuple(of_kind), tuple(file.relative_to(root).as_posix() for file in of_kind))


def _is_output(file: Path, out: Path) -> bool:
    """Whether it is the file of ids beside the output, or what a kill left of one."""
    ids = ids_beside(out)
    draft = file.name.startswith(f".{ids.stem[:DRAFTED]}") and file.suffix == ids.suffix
    named = file.name == ids.name or draft
    return named and os.path.samefile(file.absolute().parent, out.absolute().parent)


def _only_kind(kinds: Counter[str], path: Path) -> str:
    media = {kind: count for kind, count in kinds.items() if kind != "text"} or dict(kinds)
    if not media:
        raise InputError(f"{path} has no file whose ending says image, audio, video or text; pass its kind (--kind).")
    if len(media) > 1:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(media.items()))
        raise InputError(f"{path} has files of several kinds ({counts}); choose one with kind (--kind).")
    return next(iter(media))


def _listed(path: Path, texts: list[str], ids: list[str] | None, kind: str) -> Items:
    """Texts, or the files whose paths they are: seen from here, or from the folder of the list."""
    kinds = {kind_of(text) for text in texts}
    if kind == "auto":
        (chosen,) = kinds if len(kinds) == 1 else (None,)
        beside = chosen not in (None, "text") and _resolved(path, texts[0]).is_file()
        kind = chosen if beside and chosen is not None else "text"
    if kind == "text":
        return Items(kind, tuple(texts), tuple(ids or map(str, range(len(texts)))))
    files = [_resolved(path, text) for text in texts]
    missing = [text for text, file in zip(texts, files, strict=True) if not file.is_file()]
    if missing:
        raise InputError(
            f"{path} names {len(missing):,} files that are not there, such as {missing[0]!r}; write paths as seen from "
            f"{path.absolute().parent}, or the column of paths is another one (--column)."
        )
    return Items(kind, tuple(files), tuple(ids or texts))


def _resolved(beside: Path, text: str) -> Path:
    return beside.absolute().parent / os.path.expanduser(text)


def _named(items: Items, path: Path, ids: Sequence[str] | None) -> Items:
    """The items with ids of their own or these, once it is clear that a file of lines can hold them."""
    chosen = items.ids if ids is None else tuple(ids)
    if len(chosen) != len(items):
        raise InputError(f"{path} has {len(items):,} items but there are {len(chosen):,} ids; give one for each.")
    odd = next((each for each in chosen if each != each.strip() or not each or "\n" in each or "\r" in each), None)
    if odd is not None:
        raise InputError(f"the id {odd!r} is empty, or has a line end or a space at an end; give other ids (--ids).")
    twice = [each for each, count in Counter(chosen).items() if count > 1]
    if twice:
        raise InputError(f"{path}: {len(twice):,} ids are not unique, such as {twice[0]!r}; give other ids (--ids).")
    return Items(items.kind, items.values, chosen)
