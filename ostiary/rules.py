"""Access rules: who may call which methods of a model.

The most specific rule wins, as in LoopBack 3; calls that no rule allows are denied. The rules of a
resource are a function of the settings::

    from sqlalchemy import select

    from ostiary.rules import (
        ADMIN,
        AUTHENTICATED,
        EVERYONE,
        EXECUTE,
        OWNER,
        READ,
        STRONG,
        UNAUTHENTICATED,
        WEAK,
        WRITE,
        DynamicRole,
        Rule,
        UserPrincipal,
        allow,
        deny,
    )
    from models.book import Book, Loan


    def rules(settings):
        return [
            allow(EVERYONE, access=READ),
            deny(UNAUTHENTICATED, "count"),
            allow(AUTHENTICATED, "create"),
            allow(OWNER, "patchAttributes", "deleteById"),
            allow("clerk", access=WRITE),
            deny(UserPrincipal(7), "create"),
            allow(STRONG, "export"),
            deny(WEAK, "deleteById"),
            allow(ADMIN),
            Rule("reader", allow=True, access=EXECUTE, properties=frozenset({"renew"})),
        ]


    def reader(user_id):
        '''Return the condition that a user has borrowed a book.'''
        return Book.id.in_(select(Loan.book_id).where(Loan.reader_id == user_id))


    roles: dict[str, DynamicRole] = {"reader": reader}  # an argument of Resource
"""

from app.access.roles import ADMIN
from app.access.rules import (
    AUTHENTICATED,
    EVERYONE,
    EXECUTE,
    OWNER,
    READ,
    STRONG,
    UNAUTHENTICATED,
    WEAK,
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
    "STRONG",
    "UNAUTHENTICATED",
    "WEAK",
    "WRITE",
    "DynamicRole",
    "Rule",
    "UserPrincipal",
    "allow",
    "deny",
]
