"""Standbys of PostgreSQL that answer statements which read rows of models: READ_DATABASE_URL."""
