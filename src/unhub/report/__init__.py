"""What was found, on paper: figures from plain data."""
