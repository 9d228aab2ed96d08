"""What ``import unhub`` costs in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

from measuring import best_of

HEAVY = ("numba", "torch", "scipy.stats")


def import_seconds(statement: str, runs: int = 5) -> float:
    """Seconds of a fresh interpreter that runs one statement."""
    return best_of(runs, lambda: subprocess.run([sys.executable, "-c", statement], check=True))


def imports(runs: int) -> dict[str, float]:
    """Seconds of importing NumPy, unhub, and unhub with its façades looked up; and unhub's above NumPy's."""
    numpy = import_seconds("import numpy", runs)
    unhub = import_seconds("import numpy, unhub", runs)
    facades = import_seconds("import numpy, unhub; unhub.fit; unhub.evaluate", runs)
    return {
        "numpy": numpy,
        "unhub": unhub,
        "facades": facades,
        "above": unhub - numpy,
        "facades_above": facades - numpy,
    }


def loaded_at_import() -> list[str]:
    """Those of the heavy packages that ``import unhub`` loads."""
    names = f"[name for name in {HEAVY!r} if name in sys.modules]"
    statement = f"import sys, unhub; print(*{names}, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", statement], check=True, capture_output=True, text=True)
    return done.stdout.split()
