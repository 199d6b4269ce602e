"""Usernames: validation and normalization."""

import unicodedata

from tests.conftest import PASSWORD
from tests.support.answers import field_codes

# Each with the form in which it is stored.
SAME = {
    "Straße": "Straße",
    "STRASSE": "STRASSE",
    "\uff33traße": "Straße",
    " strasse ": " strasse ",
    "\u017ftrasse": "strasse",
}
INVISIBLE = [
    "ada\u200b",
    "ada\u00ad",
    "ada\u202ebob",
    "ada\u2066",
    "ada\ufe0f",
    "\u3164",
    "\uffa0ada",
    "ada\u2028",
    "ada\ue000",
    "ada\u0378",
    "ada\U000e0041",
    "\u2800",
]


def register(api, username):
    body = {"email": "bob@example.com", "password": PASSWORD, "username": username}
    return api("POST", "/users", body)


def test_names_that_differ_only_in_case_or_spelling_are_the_same(api):
    for name, stored in SAME.items():
        assert api.register(username=name)["username"] == stored
        for other in SAME:
            assert field_codes(register(api, other)) == {"username": ["uniqueness"]}
            login = api("POST", "/users/login", {"username": other, "password": PASSWORD})
            assert login.status_code == 200, other
            api.secrets.append(login.json["id"])
        api("DELETE", f"/users/{login.json['userId']}", token=login.json["id"])


def test_changing_the_spelling_of_the_own_username_is_no_conflict(api):
    api.register(username="ada")
    token = api.login()["id"]

    response = api("PATCH", "/users/1", {"username": "ADA"}, token=token)

    assert response.json["username"] == "ADA"


def test_the_username_of_another_user_in_another_case_is_taken(api, token):
    api.register("bob@example.com", username="bob")

    response = api("PATCH", "/users/1", {"username": "Bob"}, token=token)

    assert field_codes(response) == {"username": ["uniqueness"]}


def test_a_released_username_can_be_registered(api):
    api.register(username="ada")
    token = api.login()["id"]
    api("PATCH", "/users/1", {"username": None}, token=token)

    assert register(api, "Ada").status_code == 200


def test_invisible_characters_in_a_username_are_rejected(api):
    answers = [register(api, name) for name in INVISIBLE]

    assert [field_codes(answer) for answer in answers] == [{"username": ["invalid"]}] * len(answers)


def test_usernames_are_limited_before_and_after_normalization(api, monkeypatch):
    lengths = []
    normalize = unicodedata.normalize
    monkeypatch.setattr(
        "app.users.names.unicodedata.normalize",
        lambda form, text: lengths.append(len(text)) or normalize(form, text),
    )

    answers = [register(api, name) for name in ("\u0301" * 16_000, "\ufdfa" * 255)]
    login = api("POST", "/users/login", {"username": "\u0301" * 16_000, "password": PASSWORD})

    assert [field_codes(answer) for answer in answers] == [{"username": ["invalid"]}] * 2
    assert login.status_code == 401
    assert max(lengths) <= 3 * 255
