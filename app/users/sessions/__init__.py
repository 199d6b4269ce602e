"""Logging in, access tokens, and where requests carry them."""
