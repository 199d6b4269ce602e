"""Sources of rows: a database, the memory connector's file, a folder of MongoDB dumps."""
