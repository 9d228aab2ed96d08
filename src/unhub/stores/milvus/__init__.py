"""Milvus: a server, or a file of Milvus Lite."""
