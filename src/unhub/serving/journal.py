"""A note beside a correction file while an export is under way, so that a kill leaves nothing that nobody knows of."""

from __future__ import annotations

import json
import os
from pathlib import Path

from unhub.foundation.atomic import replace_file
from unhub.foundation.errors import InputError
from unhub.stores import Export


class Journal:
    """``photos.unhub.exporting``: what is being written where; gone once the correction file itself says so."""

    def __init__(self, correction: str | os.PathLike[str]) -> None:
        self.path = Path(f"{os.fspath(Path(correction).expanduser())}.exporting")

    def read(self) -> list[Export]:
        """The exports that were begun and not finished."""
        try:
            noted = json.loads(self.path.read_text(encoding="utf-8"))
            return [Export.from_plain(each) for each in noted["exports"]]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} is damaged; remove it, and with it what it names in the store (unhub_ in its name)."
            ) from error

    def note(self, export: Export) -> None:
        """Notes an export before anything of it is written."""
        others = [each for each in self.read() if (each.origin, each.place) != (export.origin, export.place)]
        self._write([*others, export])

    def forget(self, export: Export) -> None:
        """Takes a note away, once the correction file has it or nothing of it is left."""
        self._write([each for each in self.read() if (each.origin, each.place) != (export.origin, export.place)])

    def _write(self, exports: list[Export]) -> None:
        if not exports:
            self.path.unlink(missing_ok=True)
            return
        with replace_file(self.path) as temporary:
            temporary.write_text(json.dumps({"exports": [each.plain() for each in exports]}), encoding="utf-8")
