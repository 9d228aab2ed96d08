"""Two real data sets that ship with unhub, and the demonstration that runs on them."""
