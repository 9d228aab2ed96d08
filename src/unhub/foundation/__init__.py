"""Errors, array types and optional dependencies: the ground floor, which imports nothing else of unhub."""
