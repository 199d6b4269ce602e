"""The rows of a LoopBack application, moved into the database of the imported project."""
