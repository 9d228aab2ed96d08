"""Figures from plain data: each function gives back a matplotlib figure; `save` writes it as PDF and PNG."""

from unhub.report.figures.bank_size import PANELS, bank_size
from unhub.report.figures.bank_source import bank_source
from unhub.report.figures.hub_map import hub_map
from unhub.report.figures.hub_queries import hub_queries
from unhub.report.figures.media import Item
from unhub.report.figures.projection import project
from unhub.report.figures.radar import FEWEST as FEWEST_AXES
from unhub.report.figures.radar import RadarAxis, radar
from unhub.report.figures.rank_correlation import RankCorrelation, spearman
from unhub.report.figures.save import save
from unhub.report.figures.similarity import similarity
from unhub.report.figures.style import COLUMN, PAGE
from unhub.report.figures.tau_sweep import tau_sweep
from unhub.report.figures.top5 import Comparison, top5

__all__ = [
    "COLUMN",
    "FEWEST_AXES",
    "PAGE",
    "PANELS",
    "Comparison",
    "Item",
    "RadarAxis",
    "RankCorrelation",
    "bank_size",
    "bank_source",
    "hub_map",
    "hub_queries",
    "project",
    "radar",
    "save",
    "similarity",
    "spearman",
    "tau_sweep",
    "top5",
]
