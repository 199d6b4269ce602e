"""Models as REST endpoints: declaration, requests, rows, filters and responses."""
