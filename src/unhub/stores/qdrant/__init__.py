"""Qdrant: a server, the client's local mode, and Qdrant Edge in this process."""
