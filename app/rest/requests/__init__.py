"""Request bodies and query parameters."""
