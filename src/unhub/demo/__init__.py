"""Real data sets that anyone may have, and the demonstration that runs on them."""
