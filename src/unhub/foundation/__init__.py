"""Errors, types, files and optional dependencies: the ground floor, which imports nothing else of unhub."""

VERSION = "0.1.0"
"""of this package, as written into files and results"""
