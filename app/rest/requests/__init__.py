"""What clients send: bodies and query parameters."""
