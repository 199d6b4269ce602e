"""Bodies and query parameters of requests."""
