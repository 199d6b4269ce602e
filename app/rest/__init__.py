"""REST endpoints for models: declaration, request parsing, repositories and serialization."""
