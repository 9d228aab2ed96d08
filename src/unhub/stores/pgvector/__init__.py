"""PostgreSQL with pgvector: the bias in a column, and an index over vector and bias."""
