"""LanceDB: tables in a folder."""

from unhub.stores.lancedb.collection import open_collection

__all__ = ["open_collection"]
