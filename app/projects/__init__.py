"""The project folder, and the command `ostiary`, which works on it."""
