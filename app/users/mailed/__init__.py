"""Tokens that are mailed, and the events that mail them."""
