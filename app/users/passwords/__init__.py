"""Passwords: hashing, policy, and limits on guessing."""
