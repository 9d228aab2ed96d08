"""Pure numerical pieces: no files, no printing, no state."""
