"""The database: session, transactions, engine, column types and prepared statements."""
