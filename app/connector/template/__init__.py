"""Templates: structures of JSON with variables in their texts."""
