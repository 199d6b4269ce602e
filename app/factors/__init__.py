"""Second factors, passkeys and personal tokens."""
