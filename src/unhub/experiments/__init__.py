"""The paper's experiments on a dataset of one's own: one file names its parts, and every table comes from them."""

from unhub.experiments.experiment import Experiment, read_experiment
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
    "Experiment",
    "Preset",
    "Reproduction",
    "ResultTable",
    "possible",
    "preset",
    "read_experiment",
    "reproduce",
    "sweep",
]
