"""The paper's experiments on your dataset: tables, figures, sweeps."""

from unhub.experiments.presets import PRESETS, Preset, preset
from unhub.experiments.protocols import TABLES, possible
from unhub.experiments.reproduction import Reproduction, reproduce
from unhub.experiments.result import ResultTable
from unhub.experiments.sweep_jobs import SWEEPS
from unhub.experiments.sweeps import sweep

__all__ = [
    "PRESETS",
    "SWEEPS",
    "TABLES",
    "Preset",
    "Reproduction",
    "ResultTable",
    "possible",
    "preset",
    "reproduce",
    "sweep",
]
