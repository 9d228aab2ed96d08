"""The paper's experiments on your dataset: tables, figures, sweeps."""

from unhub.experiments.paper_tables import TABLES, possible
from unhub.experiments.protocols import PRESETS, Preset, preset
from unhub.experiments.reproduction import Reproduction, reproduce
from unhub.experiments.sweeps import sweep

__all__ = ["PRESETS", "TABLES", "Preset", "Reproduction", "possible", "preset", "reproduce", "sweep"]
