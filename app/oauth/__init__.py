"""Login by OpenID Connect and OAuth 2.0 providers."""
