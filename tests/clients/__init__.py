"""Clients that `ostiary client` writes."""
