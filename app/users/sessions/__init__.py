"""Logging in, access tokens, and the parts of requests that carry them."""
