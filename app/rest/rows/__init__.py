"""Rows of models: reading, changing and checking them."""
