"""Access rules: who may call which methods of a model."""

from app.access.roles import ADMIN
from app.access.rules import (
    AUTHENTICATED,
    EVERYONE,
    EXECUTE,
    OWNER,
    READ,
    UNAUTHENTICATED,
    WRITE,
    DynamicRole,
    Rule,
    UserPrincipal,
    allow,
    deny,
)

__all__ = [
    "ADMIN",
    "AUTHENTICATED",
    "EVERYONE",
    "EXECUTE",
    "OWNER",
    "READ",
    "UNAUTHENTICATED",
    "WRITE",
    "DynamicRole",
    "Rule",
    "UserPrincipal",
    "allow",
    "deny",
]
