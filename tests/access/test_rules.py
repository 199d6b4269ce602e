"""How rules are scored: the reference's precedence, and default deny."""

import pytest
from marshmallow import ValidationError

from app.access.rules import MethodRules, Verdict, parse_rules

METHODS = {"find": "READ", "findById": "READ", "create": "WRITE", "login": "EXECUTE"}
NOBODY, OWN, OTHERS, ALL = (
    Verdict(False, False),
    Verdict(True, False),
    Verdict(False, True),
    Verdict(True, True),
)


def rule(principal, permission, access="*", **more):
    kind = "USER" if isinstance(principal, int) else "ROLE"
    return {
        "principalType": kind,
        "principalId": principal,
        "permission": permission,
        "accessType": access,
        **more,
    }


def judge(settings, method="find", user=7, roles=()):
    rules = parse_rules(settings, METHODS)
    return MethodRules(rules, method, METHODS[method]).verdict(user, set(roles))


@pytest.mark.parametrize(
    ("rules", "stranger", "user"),
    [
        pytest.param([], NOBODY, NOBODY, id="nothing matches: deny"),
        pytest.param([rule("$everyone", "ALLOW")], ALL, ALL, id="everyone"),
        pytest.param([rule("$authenticated", "ALLOW")], NOBODY, ALL, id="authenticated"),
        pytest.param([rule("$unauthenticated", "ALLOW")], ALL, NOBODY, id="unauthenticated"),
        pytest.param(
            [rule("$everyone", "DENY"), rule("$authenticated", "ALLOW")],
            NOBODY,
            ALL,
            id="a closer principal beats a wider one",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$authenticated", "DENY")],
            ALL,
            NOBODY,
            id="in both directions",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY")],
            NOBODY,
            NOBODY,
            id="DENY beats ALLOW of the same rule",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property="find"), rule("$authenticated", "DENY")],
            ALL,
            ALL,
            id="an exact property beats a closer principal",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY", "READ")],
            NOBODY,
            NOBODY,
            id="an exact access type beats any",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property=["create", "find"])], ALL, ALL, id="a list"
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property="findById")], NOBODY, NOBODY, id="another method"
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", "WRITE")], NOBODY, NOBODY, id="another access type"
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY", "EXECUTE")],
            NOBODY,
            NOBODY,
            id="EXECUTE covers reading as well",
        ),
    ],
)
def test_the_closest_rule_decides(rules, stranger, user):
    assert judge(rules, user=None) == stranger
    assert judge(rules) == user


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        pytest.param([rule("$owner", "ALLOW")], OWN, id="only the own rows"),
        pytest.param(
            [rule("$owner", "DENY"), rule("$authenticated", "ALLOW")],
            OTHERS,
            id="all but the own rows",
        ),
        pytest.param([rule("$owner", "ALLOW"), rule("$everyone", "ALLOW")], ALL, id="all rows"),
    ],
)
def test_owner_rules_speak_of_rows(rules, verdict):
    assert judge(rules) == verdict


def test_nobody_owns_what_strangers_see():
    assert judge([rule("$owner", "ALLOW")], user=None) == NOBODY


def test_a_role_beats_owner():
    rules = [rule("clerk", "ALLOW"), rule("$owner", "DENY")]

    assert judge(rules, roles=["clerk"]) == ALL
    assert judge(rules, roles=["other"]) == NOBODY


def test_a_user_beats_a_role():
    rules = [rule(7, "DENY"), rule("clerk", "ALLOW")]

    assert judge(rules, user=7, roles=["clerk"]) == NOBODY
    assert judge(rules, user=8, roles=["clerk"]) == ALL


def test_only_roles_that_can_decide_are_asked_for():
    rules = parse_rules([rule("clerk", "ALLOW", property="find"), rule("$owner", "ALLOW")], METHODS)

    assert MethodRules(rules, "find", "READ").roles == {"clerk"}
    assert MethodRules(rules, "create", "WRITE").roles == set()


@pytest.mark.parametrize(
    "broken",
    [
        {"permission": "ALLOW"},
        rule("$everyone", "MAYBE"),
        rule("$everyone", "ALLOW", "LOOK"),
        rule("$everyone", "ALLOW", property="findd"),
        rule("$everyone", "ALLOW", extra=1),
        rule({"a": 1}, "ALLOW"),
    ],
)
def test_rules_that_mean_nothing_are_refused(broken):
    with pytest.raises(ValidationError):
        parse_rules([broken], METHODS)
