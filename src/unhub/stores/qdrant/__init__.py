"""Qdrant: a server, the client's local mode, and Qdrant Edge in this process."""

from unhub.stores.qdrant.client import open_collection

__all__ = ["open_collection"]
