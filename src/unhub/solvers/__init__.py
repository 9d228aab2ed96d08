"""Loops that read like the algorithm; they know nothing of files, blocks, devices or workers."""
