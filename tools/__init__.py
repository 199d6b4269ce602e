"""What writes the tables in `docs/` that follow from the code."""
