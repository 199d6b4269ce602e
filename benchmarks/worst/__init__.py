"""The requests that cost most."""
