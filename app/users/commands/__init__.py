"""The commands for users, tokens, roles and the audit log."""
