"""Milvus: a server, or a file of Milvus Lite."""

from unhub.stores.milvus.collection import open_collection

__all__ = ["open_collection"]
