"""REST: how bodies are read, and the shapes of values on the wire."""
