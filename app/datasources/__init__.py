"""Data sources: the connector's settings, commands and endpoints inside the service."""
