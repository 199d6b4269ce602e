"""The project folder, and the command `ostiary` for it."""
