"""Tests: the types of the pytest plugin's fixtures.

The plugin has the fixtures `app`, `client`, `user`, `login`, `mails` and `settings`::

    def test_a_member_reads_books(client: Client, user: Users) -> None:
        assert client.get("/api/books", user=user(role="member")).status_code == 200
"""

from app.testing.callers import PASSWORD, Caller, Client, Login, Users
from app.testing.mails import Mail, Mails

__all__ = ["PASSWORD", "Caller", "Client", "Login", "Mail", "Mails", "Users"]
