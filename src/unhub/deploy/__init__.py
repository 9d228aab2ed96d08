"""A correction in the store that already runs: export, self-test, search, refresh, rollback."""
