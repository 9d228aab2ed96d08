"""The child of ``probing``: sets its own limits, runs the function of a script, writes the outcome as JSON.

It is run by its path, so it must not import anything of unhub.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
from typing import Any


def main(order: dict[str, Any]) -> dict[str, Any]:
    """The value of the script's ``probe(**request)``, or the problem it had."""
    _limit(order["memory"], order["seconds"])
    sys.path += [each for each in order["path"] if each not in sys.path]
    try:
        return {"value": runpy.run_path(order["script"])["probe"](**order["request"])}
    except Exception as error:  # whatever a reader raises is reported to the parent
        return {"problem": str(error) or type(error).__name__, "kind": type(error).__name__}


def _limit(memory: int, seconds: float) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; the parent still watches the clock
        return
    limits = {"RLIMIT_CORE": 0, "RLIMIT_CPU": max(1, round(seconds)), "RLIMIT_AS": memory}
    for name, limit in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):  # lower already, or unknown to this system
            which = getattr(resource, name)
            hard = resource.getrlimit(which)[1]
            limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(which, (limit, hard if name == "RLIMIT_CPU" else limit))  # a signal that names itself


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the output of a library is no answer
    answers.write(json.dumps(main(json.loads(sys.argv[1]))))
    answers.close()
