"""LanceDB: tables in a folder."""
