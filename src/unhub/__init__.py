"""unhub: vector retrieval that is fair to every target.

A few items (hubs) come up for everything, others never. unhub estimates one number per target from a bank of past
queries, and ranks by score + bias. No model is retrained and no index is replaced.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unhub.foundation import VERSION as __version__

if TYPE_CHECKING:
    from unhub import io, methods, metrics, stores
    from unhub.api.artefact import load
    from unhub.api.certificate import Certificate
    from unhub.api.check import Check, check
    from unhub.api.correction import Correction
    from unhub.api.diagnose import Diagnosis, diagnose
    from unhub.api.evaluate import evaluate
    from unhub.api.evaluation import Evaluation, MethodResult
    from unhub.api.fit import fit
    from unhub.api.guard import guard
    from unhub.api.hits import Hits
    from unhub.api.make_bank import MadeBank, make_bank
    from unhub.api.monitor import monitor
    from unhub.api.monitor_result import MonitorResult
    from unhub.api.normalize import normalize
    from unhub.api.verdict import Verdict
    from unhub.dataset import Dataset
    from unhub.deploy.export import ExportResult, export, plan_export
    from unhub.deploy.refresh import RefreshResult, refresh
    from unhub.deploy.retriever import Retriever, connect
    from unhub.deploy.rollback import RollbackResult, rollback
    from unhub.encoders.run import Encoded, encode
    from unhub.experiments.reproduction import reproduce
    from unhub.experiments.sweeps import sweep
    from unhub.foundation.errors import InputError, MissingDependencyError, StoreError, UnhubError, UnhubWarning
    from unhub.methods import ADDITIVE, METHODS, register_method
    from unhub.reports.report import report
    from unhub.webapp.server import serve

_HOMES = {
    "ADDITIVE": "methods", "Certificate": "api.certificate", "Check": "api.check", "Correction": "api.correction",
    "Dataset": "dataset.dataset", "Diagnosis": "api.diagnose", "Encoded": "encoders.run",
    "Evaluation": "api.evaluation", "ExportResult": "deploy.export", "Hits": "api.hits",
    "InputError": "foundation.errors", "METHODS": "methods", "MadeBank": "api.make_bank",
    "MethodResult": "api.evaluation", "MissingDependencyError": "foundation.errors",
    "MonitorResult": "api.monitor_result", "RefreshResult": "deploy.refresh", "Retriever": "deploy.retriever",
    "RollbackResult": "deploy.rollback", "StoreError": "foundation.errors", "UnhubError": "foundation.errors",
    "UnhubWarning": "foundation.errors", "Verdict": "api.verdict", "check": "api.check",
    "connect": "deploy.retriever", "diagnose": "api.diagnose", "encode": "encoders.run", "evaluate": "api.evaluate",
    "export": "deploy.export", "fit": "api.fit", "guard": "api.guard", "load": "api.artefact",
    "make_bank": "api.make_bank", "monitor": "api.monitor", "normalize": "api.normalize",
    "plan_export": "deploy.export", "refresh": "deploy.refresh", "register_method": "methods",
    "report": "reports.report", "reproduce": "experiments.reproduction", "rollback": "deploy.rollback",
    "serve": "webapp.server", "sweep": "experiments.sweeps",
}  # fmt: skip
"""name -> the module it lives in, imported when the name is first used"""

__all__ = [
    "ADDITIVE", "METHODS", "Certificate", "Check", "Correction", "Dataset", "Diagnosis", "Encoded", "Evaluation",
    "ExportResult", "Hits", "InputError", "MadeBank", "MethodResult", "MissingDependencyError", "MonitorResult",
    "RefreshResult", "Retriever", "RollbackResult", "StoreError", "UnhubError", "UnhubWarning", "Verdict",
    "__version__", "check", "connect", "diagnose", "encode", "evaluate", "export", "fit", "guard", "io", "load",
    "make_bank", "methods", "metrics", "monitor", "normalize", "plan_export", "refresh", "register_method", "report",
    "reproduce", "rollback", "serve", "stores", "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, imported on first use, so that ``import unhub`` is fast."""
    if name in ("io", "methods", "metrics", "stores"):
        return importlib.import_module(f"unhub.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'unhub' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"unhub.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
