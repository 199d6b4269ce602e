"""The project folder."""
