"""Users, their access tokens, roles and identities."""

import pytest

from app.access.roles import create_role
from app.database.session import transaction
from app.users.models import token_digest
from tests.conftest import PASSWORD

from .conftest import HASH

CREATED = "2026-11-01T00:00:00.000Z"


def user(number, email, **more):
    return {"id": number, "email": email, "password": HASH, **more}


def token(letter, user_id, ttl=31556926, created=CREATED, **more):
    return {"id": letter * 64, "ttl": ttl, "created": created, "userId": user_id, **more}


@pytest.mark.both_databases
def test_a_user_logs_in_as_before_and_nobody_is_logged_out(move):
    tokens = [token("A", 7), token("B", 7, ttl=10), token("C", 7, ttl=-1, created="2016-01-01")]
    tokens += [token("D", 7, ttl=10**12), token("E", 99), token("F", 7, scopes=["read"])]
    tokens += [token("G", 7, principalType="Seller"), token("H", 7, principalType="Customer")]
    ada = user(7, "Ada@Example.com", username="Ada", realm="", emailVerified=1, age="36")
    ada |= {"verificationToken": "x" * 128, "nickname": "A"}
    moved = move({"Customer": [ada], "AccessToken": tokens})
    move.api.secrets += [row["id"] for row in tokens] + ["x" * 128, HASH]
    move.api.secrets.remove(HASH)
    for letter, status in {"A": 200, "B": 401, "C": 200, "D": 200, "F": 401, "H": 200}.items():
        answer = move.api("GET", "/Customers/7", token=letter * 64)
        assert answer.status_code == status, letter
    assert answer.json == {
        **answer.json,
        "id": 7,
        "email": "ada@example.com",
        "username": "Ada",
        "emailVerified": True,
        "age": 36,
    }
    counts = moved.counts["AccessToken"]
    assert (counts.read, counts.written, counts.refused, counts.left_out) == (8, 4, 3, 1)
    refused = move.refused
    assert [row[0] for row in refused] == ["AccessToken"] * 3
    assert f"sha256:{token_digest('E' * 64)[:12]}" in {row[1] for row in refused}
    [(longest,)] = move.rows("SELECT max(ttl) FROM access_tokens")
    assert longest == move.app.config["TOKEN_MAX_TTL"]
    report = "\n".join(moved.lines())
    assert "2 would be valid for longer than TOKEN_MAX_TTL" in report
    assert "rows have 'nickname', which the model does not declare" in report
    login = {"email": "ada@example.com", "password": PASSWORD}
    answer = move.api("POST", "/Customers/login", login)
    assert answer.status_code == 200
    move.api.secrets.append(answer.json["id"])
    journal = (move.folder / "project" / "loopback-import" / "journal.json").read_text()
    assert not any(row["id"] in journal + str(refused) for row in tokens)


@pytest.mark.parametrize(
    ("keep", "kept"), [(None, [3, 5]), ("newest", [2, 3, 5]), ("oldest", [1, 3, 5])]
)
def test_an_email_of_several_users_is_that_of_one_or_none(move, keep, kept):
    users = [
        user(1, "ada@example.com", created="2020-01-01"),
        user(2, "ADA@example.com", created="2021-01-01"),
        user(3, "ada@example.com", realm="other"),
        user(4, None),
        {"id": 5, "email": "bob@example.com", "password": "plain text"},
        user(6, "no address"),
        user("seven", "seven@example.com"),
    ]
    notes = [{"id": 1, "title": "of a refused user", "customerId": 4}]
    moved = move({"Customer": users, "Note": notes}, keep=keep)
    assert move.rows("SELECT id FROM users ORDER BY id") == [(number,) for number in kept]
    reasons = {row[1]: row[2] for row in move.refused if row[0] == "Customer"}
    assert reasons["4"] == "has no email"
    assert reasons["6"] == "email is not an email address"
    assert reasons["seven"] == "is not a whole number from 1"
    assert len(reasons) == 7 - len(kept)
    assert ("Note", "1", "customerId refers to a row that does not exist") in move.refused
    assert move.rows("SELECT customer_id FROM notes") == [(None,)]
    assert "1 have no hash of a password" in "\n".join(moved.lines())
    assert move.rows("SELECT password_hash FROM users WHERE id = 5") == [(None,)]


@pytest.mark.both_databases
def test_roles_and_identities(move):
    with move.app.app_context(), transaction():
        create_role("admin")
    roles = [{"id": 1, "name": "editor"}, {"id": 2, "name": "admin"}, {"id": 3, "name": "$owner"}]
    mappings = [
        {"id": 1, "principalType": "USER", "principalId": "7", "roleId": 1},
        {"id": 2, "principalType": "Customer", "principalId": "7", "roleId": "2"},
        {"id": 3, "principalType": "ROLE", "principalId": "1", "roleId": 2},
        {"id": 4, "principalType": "APP", "principalId": "1", "roleId": 2},
        {"id": 5, "principalType": "USER", "principalId": "8", "roleId": 2},
        {"id": 6, "principalType": "USER", "principalId": "7", "roleId": 9},
    ]
    identities = [
        {"id": 1, "provider": "google-login", "externalId": "12", "userId": 7, "credentials": {}},
        {"id": 2, "provider": "twitter", "externalId": "12", "userId": 7},
    ]
    given = {"Customer": [user(7, "ada@example.com")], "Role": roles, "RoleMapping": mappings}
    others = {name: [{"id": 1}] for name in ("ACL", "Application", "UserCredential", "User")}
    moved = move({**given, "UserIdentity": identities, **others})
    query = "SELECT name FROM roles JOIN role_mappings ON role_id = id ORDER BY name"
    assert move.rows(query) == [("admin",), ("editor",)]
    assert moved.counts["RoleMapping"].refused == 4
    query = "SELECT issuer, subject, user_id, profile FROM identities"
    [(issuer, subject, user_id, profile)] = move.rows(query)
    assert (issuer, subject, user_id) == ("https://accounts.google.com", "12", 7)
    assert profile in ("{}", {})
    lines = list(moved.lines())
    rules = "  IMPORTANT, not moved: ACL: 1 rows: rules in the database, which change who"
    assert lines[1].startswith(rules)
    assert sum("ACL" in line for line in lines) == 1
    for name in ("Application", "UserCredential", "User"):
        assert sum(line.startswith(f"  not moved: {name}: 1 rows: ") for line in lines) == 1
    # A further run adds nothing, and says what is there.
    again = move({**given, "UserIdentity": identities})
    assert again.counts["RoleMapping"].present == 2
    assert again.counts["UserIdentity"].present == 1
    assert not any(counts.written for counts in again.counts.values())
