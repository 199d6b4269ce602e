"""Kinds of differences, by pairs of answers."""

import json

import pytest

from ostiary_loopback.compare import kinds
from ostiary_loopback.compare.answers import MAX_READ, Answer
from ostiary_loopback.compare.calls import Call, filtered, read_call, shape
from ostiary_loopback.compare.differences import NO_CONTEXT, Context, differences

JSON = "application/json; charset=utf-8"
LIST, ROW, RELATED = "/notes", "/notes/1", "/notes/1/owner"
OWN = Context(is_own_rows=True)
RECORD = Context(is_own_record=True)
ADMINS = Context(is_admins=True)
USERS = Context(user_relations=frozenset({"owner", "borrowers"}), is_users=True)
ADA = {"id": 2, "email": "ada@example.com"}


def answer(status, value):
    body = json.dumps(value).encode()
    return Answer(status, JSON, body, len(body))


def error(status, code=None, **more):
    return answer(status, {"error": {"statusCode": status, "code": code, **more}})


def of_kinds(path, old, new, context, **filter_):
    call = filtered(path, filter=filter_) if filter_ else Call("GET", path)
    return {difference.kind for difference in differences(call, old, new, context)}


@pytest.mark.parametrize(
    ("path", "old", "new", "context", "kind"),
    [
        (ROW, error(401), error(403), NO_CONTEXT, kinds.REFUSAL),
        (ROW, error(401), error(404), NO_CONTEXT, kinds.HIDDEN_ROW),
        (LIST, error(401), answer(200, []), NO_CONTEXT, kinds.ALLOWED),
        (LIST, error(401), answer(200, []), OWN, kinds.OWN_ROWS),
        (ROW, error(401), answer(200, {"exists": True}), RECORD, kinds.OWN_RECORD),
        (ROW, error(401), answer(200, ADA), ADMINS, kinds.ADMIN),
        (LIST, error(500), answer(200, []), NO_CONTEXT, kinds.FAILURE),
        (LIST, error(500), error(400), NO_CONTEXT, kinds.FAILURE),
        (LIST, error(500), error(503), NO_CONTEXT, kinds.STATUS),
        (LIST, answer(200, []), error(500), NO_CONTEXT, kinds.STATUS),
        (
            f"{ROW}/roles/1",
            error(404, message="No relation found in RoleMapping for (user.2,Role.1)"),
            answer(200, {"id": 1, "name": "editor"}),
            NO_CONTEXT,
            kinds.ROLE,
        ),
        (f"{ROW}/roles/1", error(404), answer(200, {"id": 1}), NO_CONTEXT, kinds.STATUS),
        (RELATED, answer(200, {}), error(404), NO_CONTEXT, kinds.NO_RELATED),
        (RELATED, answer(200, {"id": 1}), error(404), NO_CONTEXT, kinds.STATUS),
        (RELATED, answer(200, {"id": 1}), error(403), NO_CONTEXT, kinds.STATUS),
        (
            RELATED,
            answer(200, {"id": 1}),
            error(403, details={"relation": "owner"}),
            NO_CONTEXT,
            kinds.RELATION,
        ),
        (
            LIST,
            answer(200, []),
            error(400, "INVALID_FILTER", message="There is no property 'x'; there are y."),
            NO_CONTEXT,
            kinds.UNKNOWN_PROPERTY,
        ),
        (LIST, answer(200, []), error(400, "INVALID_FILTER"), NO_CONTEXT, kinds.STATUS),
        (
            LIST,
            answer(200, []),
            error(400, message="include: a filter includes at most 10 relations."),
            NO_CONTEXT,
            kinds.INCLUDES,
        ),
        (ROW, error(404, "A"), error(404, "B"), NO_CONTEXT, kinds.ERROR_CODE),
        (ROW, error(404), error(404, "B"), NO_CONTEXT, kinds.ERROR_TEXT),
        (
            LIST,
            answer(200, [{"id": 1, "owner": ADA}]),
            answer(200, [{"id": 1}]),
            USERS,
            kinds.HIDDEN_USER,
        ),
        (RELATED, answer(200, ADA), answer(200, None), USERS, kinds.HIDDEN_USER),
        (
            ROW,
            answer(200, {"borrowers": [ADA]}),
            answer(200, {"borrowers": []}),
            USERS,
            kinds.HIDDEN_USER,
        ),
        (ROW, answer(200, {"owner": {"id": 2}}), answer(200, {}), USERS, kinds.MISSING),
        (ROW, answer(200, {"tools": [ADA]}), answer(200, {"tools": []}), USERS, kinds.MISSING_ROW),
        (f"{ROW}/borrowers/2", answer(200, ADA), error(404), USERS, kinds.HIDDEN_USER),
        (f"{ROW}/borrowers/2", answer(200, ADA), error(404), NO_CONTEXT, kinds.STATUS),
        (
            f"{ROW}/borrowers/9",
            error(404),
            error(401, details={"relation": "borrowers"}),
            USERS,
            kinds.RELATION,
        ),
        (
            ROW,
            answer(200, {"emailVerified": None}),
            answer(200, {"emailVerified": False}),
            USERS,
            kinds.ACCOUNT,
        ),
        (
            ROW,
            answer(200, {"emailVerified": None}),
            answer(200, {"emailVerified": True}),
            USERS,
            kinds.TYPE,
        ),
        (
            ROW,
            answer(200, {"email": "a@b"}),
            answer(200, {"email": "a@b", "created": "2026"}),
            USERS,
            kinds.ACCOUNT,
        ),
        (
            LIST,
            answer(200, [{"id": 1, "email": "Ada@b"}]),
            answer(200, [{"id": 1, "email": "ada@b"}]),
            NO_CONTEXT,
            kinds.EMAIL,
        ),
        (
            LIST,
            answer(200, [{"id": 1, "name": "Ada"}]),
            answer(200, [{"id": 1, "name": "ada"}]),
            NO_CONTEXT,
            kinds.VALUE,
        ),
        (ROW, answer(200, 1), answer(200, True), NO_CONTEXT, kinds.TYPE),
        (ROW, answer(200, "2026-01-02"), answer(200, "2026-01-03"), USERS, kinds.VALUE),
        (ROW, answer(200, [1]), answer(200, [1, 2]), NO_CONTEXT, kinds.ADDED_ROW),
        (ROW, Answer(200, JSON, None, 5), Answer(200, JSON, None, 6), USERS, kinds.SIZE),
        (ROW, Answer(200, "text/csv", b"a", 1), answer(200, 1), USERS, kinds.CONTENT),
        ("/users/1/accessTokens", answer(200, [1]), error(401), USERS, kinds.SESSIONS),
    ],
)
def test_a_difference_is_of_its_kind(path, old, new, context, kind):
    assert of_kinds(path, old, new, context) == {kind}


NORTH, SOUTH = {"code": "north"}, {"code": "S/2"}
SAW, AXE, HOE = {"id": 1, "n": None}, {"id": 2, "n": 5}, {"id": 3, "n": 5}
LISTED = Context(is_list=True, id_names=["code"], id_name="code")
FIRST = LISTED._replace(is_list=False, is_first=True)
ROLES = Context(role_relations=frozenset({"roles"}))


@pytest.mark.parametrize(
    ("filter_", "old", "new", "kind"),
    [
        ({"order": "n DESC"}, [HOE, AXE, SAW], [AXE, HOE, SAW], kinds.TIES),
        ({"limit": 9}, [AXE, SAW], [SAW, AXE], kinds.TIES),
        ({"order": ["n", "id"]}, [AXE, SAW], [SAW, AXE], kinds.NULLS),
        ({"order": "n ASC, id"}, [AXE, SAW], [SAW, AXE], kinds.NULLS),
        ({"order": "code"}, [NORTH, SOUTH], [SOUTH, NORTH], kinds.COLLATION),
        (
            {"order": "email"},
            [{"id": 1, "email": "G@b"}, {"id": 2, "email": "a@b"}],
            [{"id": 2, "email": "a@b"}, {"id": 1, "email": "g@b"}],
            kinds.EMAIL,
        ),
        # The new service has another order than its own, or other values.
        ({"order": "n"}, [SAW, AXE], [AXE, SAW], kinds.ROW_ORDER),
        ({"order": "code"}, [SOUTH, NORTH], [NORTH, SOUTH], kinds.ROW_ORDER),
        ({"order": "n"}, [{**AXE, "n": 6}, HOE], [HOE, AXE], kinds.ROW_ORDER),
        ({"order": "other"}, [HOE, AXE], [AXE, HOE], kinds.ROW_ORDER),
        # What is after "north" by letter, and before it by code point.
        ({"where": {"code": {"gt": "north"}}}, [SOUTH], [], kinds.COLLATION),
        ({"where": {"code": {"between": ["a", "z"]}}}, [SOUTH], [], kinds.COLLATION),
        ({"where": {"code": {"lt": "north"}}}, [], [SOUTH], kinds.COLLATION),
        ({"where": {"code": {"gt": "n"}}}, [NORTH], [], kinds.MISSING_ROW),
        ({"where": {"code": {"gt": 1}}}, [NORTH], [], kinds.MISSING_ROW),
        # Pages, which may be other ones only if they are full.
        ({"limit": 1}, [NORTH], [SOUTH], kinds.OTHER_PAGE),
        ({"limit": 2}, [NORTH], [SOUTH], kinds.MISSING_ROW),
        ({"limit": 1, "where": {"code": "north"}}, [NORTH], [SOUTH], kinds.MISSING_ROW),
        ({"limit": 1}, [NORTH], [], kinds.MISSING_ROW),
    ],
)
def test_a_difference_of_rows_is_of_its_kind(filter_, old, new, kind):
    found = of_kinds(LIST, answer(200, old), answer(200, new), LISTED, **filter_)

    assert kind in found
    assert found <= {kind, kinds.EMAIL, kinds.VALUE, kinds.ADDED_ROW}


def test_another_first_row_is_another_page():
    assert of_kinds(LIST, answer(200, NORTH), answer(200, SOUTH), FIRST) == {kinds.OTHER_PAGE}
    found = of_kinds(LIST, answer(200, NORTH), answer(200, SOUTH), FIRST, where=NORTH)
    assert kinds.MISSING_ROW in found


def test_roles_have_other_ids_and_no_times_but_the_same_names():
    old = {"id": 1, "roles": [{"id": 7, "name": "editor", "created": "2020"}]}
    same = {"id": 1, "roles": [{"id": 7, "name": "editor"}]}
    other_id = {"id": 1, "roles": [{"id": 1, "name": "editor"}]}
    other_name = {"id": 1, "roles": [{"id": 1, "name": "writer"}]}

    for new, found in (
        (same, {kinds.ROLE}),
        (other_id, {kinds.ROLE}),
        (other_name, {kinds.MISSING_ROW, kinds.ADDED_ROW}),
        ({"id": 1, "roles": []}, {kinds.MISSING_ROW}),
    ):
        assert of_kinds(ROW, answer(200, old), answer(200, new), ROLES) == found

    old = {"id": 1, "roles": {"id": 7, "roleId": 2, "principalId": "1"}}
    for new, found in (
        ({"id": 1, "roles": {"id": "1.3", "roleId": 3, "principalId": "1"}}, {kinds.ROLE}),
        ({"id": 1, "roles": {"id": 7, "roleId": 2, "principalId": "2"}}, {kinds.VALUE}),
    ):
        assert of_kinds(ROW, answer(200, old), answer(200, new), ROLES) == found


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ({"keys": []}, {"keys": [{"id": 1}]}, kinds.INCLUDED),
        ({}, {"keys": {"id": 1}}, kinds.INCLUDED),
        ({"keys": [{"id": 1}]}, {"keys": [{"id": 1}, {"id": 2}]}, kinds.ADDED_ROW),
        ({"keys": {"id": 1}}, {"keys": [{"id": 1}]}, kinds.LIST_OF_ONE),
        ({}, {"keys": []}, kinds.LIST_OF_ONE),
        ({"keys": {"id": 1}}, {"keys": [{"id": 2}]}, kinds.TYPE),
        ({"keys": {"id": 1}}, {"keys": [{"id": 1}, {"id": 2}]}, kinds.TYPE),
        ({"keys": [{"id": 1}]}, {}, kinds.MISSING),
        ({"tools": []}, {"tools": [{"id": 1}]}, kinds.ADDED_ROW),
    ],
)
def test_included_rows_of_which_there_were_none_are_a_kind_of_their_own(old, new, kind):
    context = Context(relations=frozenset({"keys"}))

    assert of_kinds(ROW, answer(200, old), answer(200, new), context) == {kind}


def test_what_users_include_by_default_is_a_kind_of_its_own():
    context = Context(is_users=True, relations=frozenset({"keys"}))
    old, new = answer(200, {"id": 1, "keys": []}), answer(200, {"id": 1})

    assert of_kinds(ROW, old, new, context) == {kinds.USERS_SCOPE}
    # A relation that the call includes is one that is missing.
    for include in ("keys", "locks,keys", ["keys"], {"keys": "locks"}, [{"relation": "keys"}]):
        assert of_kinds(ROW, old, new, context, include=include) == {kinds.MISSING}


def test_what_clients_read_alike_is_no_difference():
    deep = json.loads("[" * 40 + "]" * 40)
    pairs = [(1, 1.0), (None, None), ({"a": [1]}, {"a": [1]}), (deep, deep)]
    for old, new in pairs:
        assert not of_kinds(ROW, answer(200, old), answer(200, new), USERS)


def test_answers_of_which_not_all_was_read_have_no_known_difference():
    # The shadow proxy knows the whole size of the old one.
    old, new = (Answer(200, JSON, None, size) for size in (200 << 20, MAX_READ + 1))
    assert not of_kinds(ROW, old, new, USERS)


def test_answers_that_are_nested_deeply_differ_and_are_no_error():
    for depth in range(800, 1000, 10):
        old, new = (b"[" * depth + leaf + b"]" * depth for leaf in (b"1", b"2"))
        answers = [Answer(200, JSON, body, len(body)) for body in (old, new)]
        assert len(differences(Call("GET", ROW), *answers)) == 1


def test_of_an_error_only_words_are_told():
    codes = ("NOT_FOUND", "\x1b[31m red", {"id": "secret"})
    found = [
        differences(Call("GET", ROW), error(404, code), error(404, "x"))[0].old for code in codes
    ]

    assert found == ["NOT_FOUND", r'"\a999a[99a aaa"', "an object of 1"]


def test_a_call_is_described_without_values():
    email = "ada@example.com"
    call = filtered(f"/users/{email}/notes", filter={"where": {"email": email}, "order": "id ASC"})
    assert str(call) == (
        'GET /users/aaa@aaaaaaa.aaa/notes?filter={"where":{"email":"aaa@aaaaaaa.aaa"},'
        '"order":"id ASC"}'
    )
    call = read_call("GET", f"/notes?filter[where][a]={email}&access_token=x&q={email}&page=2")
    assert str(call) == ('GET /notes?filter[where][a]="aaa@aaaaaaa.aaa"&q="aaa@aaaaaaa.aaa"&page=2')
    token = "x1" * 32
    assert token not in str(Call("GET", f"/users/1/accessTokens/{token}", [("token", token)]))
    assert "abc" not in str(Call("GET", "/users/1/accessTokens/abc"))
    assert shape("Zoë 12\x1b") == '"Aaa 99\\a999a"'
