"""Slow, literal formulas in float64. They import nothing of unhub: production code is held against them."""
