"""JSON files that somebody else may have put there."""

from __future__ import annotations

import json
import os
from typing import Any

from unhub.foundation.regular_files import read_regular


def read_json(path: str | os.PathLike[str], *, longest: int) -> Any:
    """What is in a regular file of at most so many bytes; a ValueError says why it cannot be used.

    FileNotFoundError if there is none. A pipe or a device is not waited for, and no more than ``longest`` is read.
    """
    try:
        return json.loads(read_regular(path, longest=longest))
    except RecursionError:
        raise ValueError(f"{os.fspath(path)} is nested too deeply") from None
