"""Shared parts of the service's pages: their style, the API client, and Preact."""
