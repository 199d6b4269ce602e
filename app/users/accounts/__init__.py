"""Accounts of users: registration, changes, passwords and addresses."""
