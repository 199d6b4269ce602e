"""One-time passwords of authenticator apps (RFC 6238)."""
