"""What the tests of a project use: apps, databases, callers and mails."""
