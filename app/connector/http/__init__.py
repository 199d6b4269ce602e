"""Sending a request: hooks, retries, credentials, connections, decoding."""
