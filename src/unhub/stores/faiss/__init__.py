"""faiss: an index in a file."""

from unhub.stores.faiss.collection import open_collection

__all__ = ["open_collection"]
