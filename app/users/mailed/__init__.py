"""Mailed tokens, the events that mail them, and the verification of addresses."""
