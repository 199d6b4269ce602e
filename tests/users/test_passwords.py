"""The password policy and password hashes."""

import json
import os
import subprocess
import sys
import time
import unicodedata

import bcrypt
import pytest
from argon2 import PasswordHasher, Type, extract_parameters
from werkzeug.security import generate_password_hash

from app.users.passwords import hashing
from tests.conftest import NEW, PASSWORD, Api, login_status
from tests.support.answers import field_codes, refusal
from tests.support.installation import ROOT, Installation
from tests.support.rows import store_hash, stored_hash


def register(api, password, **fields):
    api.secrets.append(password)
    body = {"email": "ada@example.com", "password": password, **fields}
    return api("POST", "/users", body)


@pytest.mark.parametrize(
    "password",
    [
        "xkqzjvbw",
        "x" * 256,
        " leading and trailing ",
        "жёлтый-слон",
        "🐘🐘🐘🐘🐘🐘🐘🐘",
        "'; DROP--",
    ],
    ids=["8 characters", "256 characters", "spaces", "cyrillic", "emoji", "quotes"],
)
def test_a_valid_password_is_not_altered(api, password):
    assert register(api, password).status_code == 200

    assert login_status(api, password) == 200
    assert login_status(api, password[:-1]) == 401
    assert login_status(api, password + " ") == 401


@pytest.mark.parametrize(
    ("password", "codes"),
    [
        ("xkqzjvb", ["invalid"]),
        ("🐘" * 7, ["invalid"]),
        ("x" * 257, ["invalid"]),
        ("password1", ["common"]),
        ("PassWord1", ["common"]),
        ("ada@example.com", ["invalid"]),
        ("ADA@EXAMPLE.COM", ["invalid"]),
        ("countess", ["invalid"]),
    ],
    ids=[
        "7 characters",
        "7 emoji",
        "257 characters",
        "common",
        "common in capitals",
        "email",
        "email in capitals",
        "username",
    ],
)
def test_an_invalid_password_is_rejected(api, password, codes):
    response = register(api, password, username="countess")

    assert field_codes(response) == {"password": codes}


def test_the_local_part_of_the_email_is_rejected_as_password(api):
    api.secrets.clear()

    response = api("POST", "/users", {"email": "lovelace@x.org", "password": "Lovelace"})

    assert field_codes(response) == {"password": ["invalid"]}


def test_passwords_that_differ_after_72_bytes_differ(api):
    register(api, "x" * 72 + "yz")

    assert login_status(api, "x" * 72) == 401
    assert login_status(api, "x" * 72 + "ab") == 401


COMPOSED = unicodedata.normalize("NFC", "café au lait")
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.mark.parametrize(
    ("first", "second"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)], ids=["NFC", "NFD"]
)
def test_a_password_is_the_same_in_each_unicode_form(api, first, second):
    """Which form is sent depends on the keyboard and the system."""
    register(api, first)
    api.secrets.append(second)

    assert (login_status(api, second), login_status(api, first)) == (200, 200)
    body = {"oldPassword": second, "newPassword": NEW}
    changed = api("POST", "/users/change-password", body, token=login(api, second))
    assert changed.status_code == 204


def login(api, password):
    body = {"email": "ada@example.com", "password": password}
    token = api("POST", "/users/login", body).json["id"]
    api.secrets.append(token)
    return token


@pytest.mark.both_databases
def test_an_older_hash_of_the_form_that_was_sent_matches_and_is_replaced(app, api, secrets):
    secrets += [COMPOSED, DECOMPOSED]
    api.register()
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    store_hash(app, hasher.hash(DECOMPOSED))

    before = login_status(api, COMPOSED)
    sent = login_status(api, DECOMPOSED)

    assert (before, sent) == (401, 200)
    assert hasher.verify(stored_hash(app), COMPOSED)
    assert login_status(api, COMPOSED) == 200


def test_the_length_is_that_of_the_normal_form(api):
    # Eight characters, of which seven are left.
    assert field_codes(register(api, "e\u0301xkqzjv")) == {"password": ["invalid"]}
    assert register(api, "e\u0301" * 200 + "x").status_code == 200


def test_a_second_form_is_tried_only_where_there_is_one_and_for_nobody_more(app, api, monkeypatch):
    api.register()
    store_hash(app, imported_hashes()["bcrypt"])
    tried = []
    matches = hashing._matches
    monkeypatch.setattr(
        hashing, "_matches", lambda *given: tried.append(given[2]) or matches(*given)
    )
    work = {}
    for password in ("plain", DECOMPOSED):
        for email in ("ada@example.com", "nobody@example.com"):
            tried.clear()
            body = {"email": email, "password": password}
            assert api("POST", "/users/login", body).status_code == 401
            work[password, email] = list(tried)

    for password, forms in (("plain", ["plain"]), (DECOMPOSED, [COMPOSED, DECOMPOSED])):
        known, unknown = (work[password, f"{name}@example.com"] for name in ("ada", "nobody"))
        assert known == unknown == forms * 2


def test_a_long_password_is_not_normalized_which_takes_quadratic_time(api):
    credentials = {"email": "ada@example.com"}
    credentials["password"] = "a" + "\u0345" * 25_000 + "\u0334" * 25_000
    body = json.dumps(credentials, ensure_ascii=False).encode()

    begun = time.process_time()
    response = api("POST", "/users/login", data=body, content_type="application/json")

    assert response.status_code == 401
    # Of which the hash, JSON and the database take a hundredth.
    assert time.process_time() - begun < 0.5


def test_the_policy_can_be_configured(make_app, secrets):
    lax = make_app(PASSWORD_MIN_LENGTH=1, PASSWORD_MAX_LENGTH=8, PASSWORD_BLOCKLIST=False)
    api = Api(lax.test_client(), secrets)

    long = api("POST", "/users", {"email": "a@example.com", "password": "x" * 9})
    short = api("POST", "/users", {"email": "a@example.com", "password": "secret"})

    assert field_codes(long) == {"password": ["invalid"]}
    assert short.status_code == 200


def test_the_default_hash_has_the_parameters_of_owasp(make_app, secrets):
    # None of the settings that make the other tests fast.
    app = make_app(PASSWORD_HASH={})
    Api(app.test_client(), secrets).register()

    found = extract_parameters(stored_hash(app))

    assert found.type is Type.ID
    assert (found.time_cost, found.memory_cost, found.parallelism) == (2, 19456, 1)
    assert found.salt_len >= 16
    assert found.hash_len >= 32


def test_equal_passwords_have_different_hashes(app, api):
    api.register("ada@example.com")
    api.register("bob@example.com")

    assert stored_hash(app, "ada@example.com") != stored_hash(app, "bob@example.com")


FOREIGN = {
    "werkzeug scrypt": lambda: generate_password_hash(PASSWORD, "scrypt:1024:8:1"),
    "werkzeug pbkdf2": lambda: generate_password_hash(PASSWORD, "pbkdf2:sha256:1000"),
    "bcrypt 2b": lambda: bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode(),
    "bcrypt 2a": lambda: bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4, b"2a")).decode(),
    "argon2 of other cost": lambda: PasswordHasher(1, 16, 1).hash(PASSWORD),
    "argon2i": lambda: PasswordHasher(1, 8, 1, type=Type.I).hash(PASSWORD),
}


@pytest.mark.parametrize("make_hash", FOREIGN.values(), ids=FOREIGN.keys())
def test_an_imported_hash_is_rewritten_once_at_login(app, api, make_hash):
    api.register()
    store_hash(app, make_hash())

    hashes = []
    for _ in range(2):
        assert login_status(api, PASSWORD) == 200
        hashes.append(stored_hash(app))

    assert hashes[0] == hashes[1]
    assert hashes[0].startswith("$argon2id$v=19$m=8,t=1,p=1$")


@pytest.mark.parametrize("make_hash", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_failed_login_does_not_rewrite_an_imported_hash(app, api, make_hash):
    api.register()
    foreign = make_hash()
    store_hash(app, foreign)

    assert [login_status(api, wrong) for wrong in ("wrong", "", PASSWORD + "x")] == [401] * 3
    assert stored_hash(app) == foreign


def test_bcrypt_rejects_a_password_beyond_72_bytes(app, api):
    api.register()
    store_hash(app, bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode())

    assert login_status(api, "x" * 73) == 401
    assert login_status(api, "x" * 72) == 200


@pytest.mark.parametrize(
    "broken",
    ["", "!", "plain text", "$argon2id$broken", "$2b$broken", "scrypt:1:2$x$y", "oops$a$b"],
)
def test_login_with_a_malformed_hash_fails(app, api, broken):
    api.register()
    store_hash(app, broken)

    response = api("POST", "/users/login", {"email": "ada@example.com", "password": PASSWORD})

    assert refusal(response) == (401, "LOGIN_FAILED")


def imported_hashes():
    """A hash of each scheme that other services leave behind, and two costs of one of them."""
    salts = [bcrypt.gensalt(rounds) for rounds in (4, 5)]
    return {
        "bcrypt": bcrypt.hashpw(PASSWORD.encode(), salts[0]).decode(),
        "costlier": bcrypt.hashpw(PASSWORD.encode(), salts[1]).decode(),
        "scrypt": generate_password_hash(PASSWORD, "scrypt:1024:8:1"),
        "pbkdf2": generate_password_hash(PASSWORD, "pbkdf2:sha256:1"),
        "argon2": PasswordHasher(time_cost=2, memory_cost=8, parallelism=1).hash(PASSWORD),
    }


def test_every_failed_login_verifies_once_for_each_stored_scheme(app, api, monkeypatch):
    api.register("ada@example.com")
    hashes = imported_hashes()
    for name, stored in hashes.items():
        api.register(f"{name}@example.com")
        store_hash(app, stored, f"{name}@example.com")
    work = []
    matches = hashing._matches

    def counted(hasher, stored, password):
        work.append((hashing.scheme_of(stored), len(password)))
        return matches(hasher, stored, password)

    monkeypatch.setattr(hashing, "_matches", counted)
    for attempt in ("wrong", "x" * 73, "x" * 50_000):
        seen = set()
        for name in ("ada", "nobody", *hashes):
            work.clear()
            credentials = {"email": f"{name}@example.com", "password": attempt}
            assert refusal(api("POST", "/users/login", credentials)) == (401, "LOGIN_FAILED")
            seen.add(tuple(work))
        assert len(seen) == 1
        assert len(work) == len(hashes) + 1
        assert {length for _, length in work} == {len(attempt)}


def test_bcrypt_also_verifies_for_passwords_beyond_72_bytes(app, api, monkeypatch):
    api.register()
    store_hash(app, imported_hashes()["bcrypt"])
    lengths = []
    check = bcrypt.checkpw
    monkeypatch.setattr(
        bcrypt, "checkpw", lambda given, stored: lengths.append(len(given)) or check(given, stored)
    )

    assert login_status(api, "x" * 73) == 401
    assert lengths == [72]


def test_the_stored_schemes_are_cached_for_a_minute(app, api, monkeypatch):
    api.register()
    found = []
    find = hashing._find_schemes
    monkeypatch.setattr(
        hashing, "_find_schemes", lambda method: found.append(method) or find(method)
    )

    for _ in range(3):
        login_status(api, "wrong")
    assert len(found) == len(hashing.METHODS)

    monkeypatch.setattr(hashing, "CACHE_SECONDS", 0)
    hashing.cached_schemes.set(app, (0.0, {}))
    for _ in range(2):
        login_status(api, "wrong")
    assert len(found) == 3 * len(hashing.METHODS)


MEMORY = """
from pathlib import Path
from wsgi import app
from app.server.processes import when_ready
from app.users.passwords.hashing import hash_password
from app.users.passwords.policy import validate_password

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

# As gunicorn does.
when_ready(None)
with app.app_context():
    before = resident()
    validate_password("xkqzjvbw")
    for _ in range(3):
        hash_password("xkqzjvbw")
    print(resident() - before)
"""


@pytest.mark.live
@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_a_process_keeps_no_memory_of_hashes_and_little_of_the_blocklist(tmp_path):
    result = Installation(tmp_path).run("-c", MEMORY)

    assert result.returncode == 0, result.stderr
    # MiB; the memory of a hash would be 19 more, and all lists of zxcvbn 13 more.
    assert float(result.stdout) < 12


PRIORITY = """
import os, threading
from app.hash_slots import HashThreads

def niceness():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

print(HashThreads(1).compute(niceness) - niceness())
"""


@pytest.mark.live
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_hashes_are_computed_at_a_lower_priority_than_that_of_the_service(tmp_path):
    def difference(launcher):
        command = [*launcher, sys.executable, "-c", PRIORITY]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return int(result.stdout)

    assert difference([]) == 10
    # There is none higher than 19.
    assert difference(["nice", "-n", str(15 - os.nice(0))]) == 4
