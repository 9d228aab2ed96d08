"""faiss: an index in a file."""
