"""Chroma: a server or a folder."""
