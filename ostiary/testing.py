"""Tests: the types of the pytest plugin's fixtures.

The plugin has the fixtures `app`, `client`, `user`, `login`, `mails`, `parallel` and `settings`::

    def test_a_member_reads_books(client: Client, user: Users) -> None:
        assert client.get("/api/books", user=user(role="member")).status_code == 200


    def test_members_read_at_the_same_time(client: Client, user: Users, parallel: Parallel) -> None:
        member = user(role="member")
        answers = parallel(lambda: client.get("/api/books", user=member), 5)
        assert [answer.status_code for answer in answers] == [200] * 5
"""

from app.testing.callers import PASSWORD, Caller, Client, Login, Users
from app.testing.mails import Mail, Mails
from app.testing.threads import Parallel

__all__ = ["PASSWORD", "Caller", "Client", "Login", "Mail", "Mails", "Parallel", "Users"]
