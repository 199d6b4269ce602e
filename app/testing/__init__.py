"""Tools for a project's tests: apps, databases, callers, threads and mails."""
