"""The stores that the tests start, each real: name -> how to start it, and the kinds of index to try there."""

from stores.engines import chroma, faiss, lancedb, milvus, pgvector, qdrant

_MODULES = (faiss, chroma, qdrant, pgvector, lancedb, milvus)

ENGINES = {name: start for module in _MODULES for name, start in module.ENGINES.items()}
VARIANTS = [variant for module in _MODULES for variant in module.VARIANTS]
