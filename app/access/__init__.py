"""Access control: identity, roles, rules and policy."""
