"""The endpoints of collections and relations, and how rows become JSON."""
