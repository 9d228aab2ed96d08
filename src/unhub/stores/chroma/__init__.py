"""Chroma: a server or a folder."""

from unhub.stores.chroma.collection import open_collection

__all__ = ["open_collection"]
