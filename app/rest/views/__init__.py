"""Endpoints of collections and relations, and serialization of rows."""
