"""PostgreSQL standbys for statements that read rows of models: READ_DATABASE_URL."""
