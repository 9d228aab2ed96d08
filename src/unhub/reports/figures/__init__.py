"""Figures from plain data: each function returns a matplotlib figure; `save` writes it as PDF and PNG."""

from unhub.experiments.figure_data import FEWEST_AXES, Item, QueryResults, RadarAxis
from unhub.reports.figures.bank_source import FEWEST_PAIRS, RankCorrelation, bank_source, spearman
from unhub.reports.figures.hub_map import hub_map, project
from unhub.reports.figures.radar import radar
from unhub.reports.figures.rankings import hub_queries, top5
from unhub.reports.figures.similarity import similarity
from unhub.reports.figures.style import COLUMN, PAGE, notes, save
from unhub.reports.figures.sweeps import PANELS, bank_size, tau_sweep

__all__ = [
    "COLUMN", "FEWEST_AXES", "FEWEST_PAIRS", "PAGE", "PANELS", "Item", "QueryResults", "RadarAxis", "RankCorrelation",
    "bank_size", "bank_source", "hub_map", "hub_queries", "notes", "project", "radar", "save", "similarity", "spearman",
    "tau_sweep", "top5",
]  # fmt: skip
