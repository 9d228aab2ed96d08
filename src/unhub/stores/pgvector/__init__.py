"""PostgreSQL with pgvector: the bias in a column, and an index over vector and bias."""

from unhub.stores.pgvector.collection import open_collection

__all__ = ["open_collection"]
