"""Write-ahead journal of unfinished exports, beside the correction file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.facade import warn
from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.foundation.file_lock import locked
from unhub.foundation.regular_files import read_json
from unhub.stores import Export, is_address

LONGEST = 2**24  # bytes of a journal; one export takes about a thousand


class Journal:
    """``photos.unhub.exporting``: what is being written where; removed once the correction file records it."""

    def __init__(self, correction: str | os.PathLike[str]) -> None:
        self.path = Path(f"{os.path.realpath(Path(correction).expanduser())}.exporting")  # the same through any link

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A lock: an error if another process exports, refreshes or rolls back with this file."""
        busy = f"another process works on the exports of {self.path.with_suffix('')}; wait until it is done."
        with locked(self.path.with_suffix(".lock"), busy) as notes:
            warn(notes)
            yield

    def read(self) -> list[Export]:
        """The unfinished exports."""
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a link to {os.readlink(self.path)}, and not unhub's; remove it.")
        try:
            return [Export.from_dict(each) for each in read_json(self.path, longest=LONGEST)["exports"]]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} is damaged; remove it, and what it names in the store (with unhub_ in its name)."
            ) from error

    def note(self, export: Export) -> None:
        """Notes an export before anything of it is written."""
        self._write([*self._others(export), export])

    def forget(self, export: Export) -> None:
        """Removes a note, once the correction file has it or nothing of it is left."""
        self._write(self._others(export))

    def _others(self, export: Export) -> list[Export]:
        return [each for each in self.read() if each.location != export.location]

    def _write(self, exports: list[Export]) -> None:
        if not exports:
            self.path.unlink(missing_ok=True)
            return
        with replace_file(self.path, follow_links=False) as temporary:
            temporary.write_text(json.dumps({"exports": [each.to_dict() for each in exports]}), encoding="utf-8")


@contextmanager
def exclusive_journal(correction: Correction | str | os.PathLike[str]) -> Iterator[tuple[Correction, Journal | None]]:
    """The correction and, if it is a file, its locked journal."""
    if isinstance(correction, Correction):
        yield correction, None
        return
    if is_address(correction) or not Path(correction).expanduser().is_file():
        load(correction)  # raises the right error
    journal = Journal(correction)
    with journal.alone():
        yield load(correction), journal
