"""A correction at work in the store that already runs: export, self-test, search, refresh, and the way back."""
