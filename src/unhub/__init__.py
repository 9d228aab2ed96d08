"""unhub: vector retrieval that is fair to every target.

A few items (hubs) come up for everything, others never. unhub estimates one number per target from a bank of past
queries, and ranks by score + bias. No model is retrained and no index is replaced.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unhub import io, methods, metrics
    from unhub.api.artefact import load
    from unhub.api.correction import Correction
    from unhub.api.diagnose import Diagnosis, diagnose
    from unhub.api.evaluate import evaluate
    from unhub.api.evaluation import Evaluation, MethodResult
    from unhub.api.fit import fit
    from unhub.api.hits import Hits
    from unhub.api.normalize import normalize
    from unhub.foundation.errors import InputError, MissingDependencyError, UnhubError, UnhubWarning
    from unhub.methods import ADDITIVE, METHODS

_HOMES = {
    "ADDITIVE": "methods",
    "METHODS": "methods",
    "Correction": "api.correction",
    "Diagnosis": "api.diagnose",
    "Evaluation": "api.evaluation",
    "Hits": "api.hits",
    "InputError": "foundation.errors",
    "MethodResult": "api.evaluation",
    "MissingDependencyError": "foundation.errors",
    "UnhubError": "foundation.errors",
    "UnhubWarning": "foundation.errors",
    "diagnose": "api.diagnose",
    "evaluate": "api.evaluate",
    "fit": "api.fit",
    "load": "api.artefact",
    "normalize": "api.normalize",
}
"""name -> the module it lives in, imported when the name is first used"""

__all__ = [
    "ADDITIVE",
    "METHODS",
    "Correction",
    "Diagnosis",
    "Evaluation",
    "Hits",
    "InputError",
    "MethodResult",
    "MissingDependencyError",
    "UnhubError",
    "UnhubWarning",
    "__version__",
    "diagnose",
    "evaluate",
    "fit",
    "io",
    "load",
    "methods",
    "metrics",
    "normalize",
]


def __getattr__(name: str) -> Any:
    """A public name, imported on first use, so that ``import unhub`` costs next to nothing."""
    if name in ("io", "methods", "metrics"):
        return importlib.import_module(f"unhub.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'unhub' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"unhub.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
