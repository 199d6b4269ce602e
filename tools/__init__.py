"""Generators of the tables in `docs/` that follow from the code."""
