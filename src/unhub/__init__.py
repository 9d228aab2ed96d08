"""unhub: vector retrieval that is fair to every target.

A few items (hubs) come up for everything, others never. unhub estimates one number per target from a bank of past
queries, and ranks by score + bias. No model is retrained and no index is replaced.
"""

__version__ = "0.1.0"

from unhub import methods, metrics
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
    "load",
    "methods",
    "metrics",
    "normalize",
]
