"""Building and encoding one request."""
