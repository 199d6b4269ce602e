"""Tools for a project's tests: apps, databases, callers and mails."""
