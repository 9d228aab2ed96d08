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

LONGEST = 2**24
"""bytes of a journal; one export takes about a thousand"""


class Journal:
    """``photos.unhub.exporting``: what is being written where; gone once the correction file itself says so."""

    def __init__(self, correction: str | os.PathLike[str]) -> None:
        self.path = Path(
            f"{os.path.realpath(Path(correction).expanduser())}.exporting"
        )  # one, whatever links lead here

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else exports, refreshes or takes back with this file meanwhile; an error if somebody does."""
        busy = f"another process works on the exports of {self.path.with_suffix('')}; wait until it is done."
        with locked(self.path.with_suffix(".lock"), busy) as notes:
            warn(notes)
            yield

    def read(self) -> list[Export]:
        """The exports that were begun and not finished."""
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a link to {os.readlink(self.path)}, and not unhub's; remove it.")
        try:
            noted = read_json(self.path, longest=LONGEST)
            return [Export.from_dict(each) for each in noted["exports"]]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} is damaged; remove it, and with it what it names in the store (unhub_ in its name)."
            ) from error

    def note(self, export: Export) -> None:
        """Notes an export before anything of it is written."""
        others = [
            each for each in self.read() if (each.origin, each.destination) != (export.origin, export.destination)
        ]
        self._write([*others, export])

    def forget(self, export: Export) -> None:
        """Takes a note away, once the correction file has it or nothing of it is left."""
        self._write(
            [each for each in self.read() if (each.origin, each.destination) != (export.origin, export.destination)]
        )

    def _write(self, exports: list[Export]) -> None:
        if not exports:
            self.path.unlink(missing_ok=True)
            return
        with replace_file(self.path, follow_links=False) as temporary:
            temporary.write_text(json.dumps({"exports": [each.to_dict() for each in exports]}), encoding="utf-8")


@contextmanager
def exclusive_journal(correction: Correction | str | os.PathLike[str]) -> Iterator[tuple[Correction, Journal | None]]:
    """The correction and, if it is a file, its journal, with nobody else at work on its exports meanwhile."""
    if isinstance(correction, Correction):
        yield correction, None
        return
    if is_address(correction) or not Path(correction).expanduser().is_file():
        load(correction)  # which says what is wrong with it
    journal = Journal(correction)
    with journal.alone():
        yield load(correction), journal
