"""Moving the rows of an application: sources, users, tokens, roles and models."""
