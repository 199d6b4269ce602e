"""Accounts of users: registration, lookup, changes of them, and what links in mails lead to."""
