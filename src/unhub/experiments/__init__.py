"""The paper's experiments on your dataset: tables, figures, sweeps."""

from unhub.experiments.presets import PRESETS, Preset, preset
from unhub.experiments.protocols import TABLES, possible
from unhub.experiments.reproduction import Reproduction, reproduce
from unhub.experiments.sweeps import sweep

__all__ = ["PRESETS", "TABLES", "Preset", "Reproduction", "possible", "preset", "reproduce", "sweep"]
