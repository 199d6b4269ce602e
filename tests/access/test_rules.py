"""The scoring of access rules: LoopBack 3's precedence, and deny by default."""

import pytest
from marshmallow import ValidationError

from app.access.parsing import parse_rules
from app.access.rules import Decision, MethodRules, UserPrincipal, allow
from app.ids import INTEGER

METHODS = {"find": "READ", "findById": "READ", "create": "WRITE", "login": "EXECUTE"}
NO_ROWS, OWN_ROWS, OTHERS_ROWS, ALL_ROWS = (
    Decision(False, False),
    Decision(True, False),
    Decision(False, True),
    Decision(True, True),
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


def test_an_id_alone_is_no_principal_since_it_may_be_text_as_roles_are():
    assert allow(UserPrincipal(7), "find").principal.id == 7
    with pytest.raises(TypeError, match=r"the user 7 is UserPrincipal\(7\) in a rule"):
        allow(7, "find")


def decide(settings, method="find", user=7, roles=()):
    rules = parse_rules(settings, METHODS, INTEGER)
    return MethodRules(rules, method, METHODS[method]).decision(user, set(roles))


@pytest.mark.parametrize(
    ("rules", "stranger", "user"),
    [
        pytest.param([], NO_ROWS, NO_ROWS, id="nothing matches: deny"),
        pytest.param([rule("$everyone", "ALLOW")], ALL_ROWS, ALL_ROWS, id="everyone"),
        pytest.param([rule("$authenticated", "ALLOW")], NO_ROWS, ALL_ROWS, id="authenticated"),
        pytest.param([rule("$unauthenticated", "ALLOW")], ALL_ROWS, NO_ROWS, id="unauthenticated"),
        pytest.param(
            [rule("$everyone", "DENY"), rule("$authenticated", "ALLOW")],
            NO_ROWS,
            ALL_ROWS,
            id="a closer principal beats a wider one",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$authenticated", "DENY")],
            ALL_ROWS,
            NO_ROWS,
            id="in both directions",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY")],
            NO_ROWS,
            NO_ROWS,
            id="DENY beats ALLOW of the same rule",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property="find"), rule("$authenticated", "DENY")],
            ALL_ROWS,
            ALL_ROWS,
            id="an exact property beats a closer principal",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY", "READ")],
            NO_ROWS,
            NO_ROWS,
            id="an exact access type beats any",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property=["create", "find"])],
            ALL_ROWS,
            ALL_ROWS,
            id="a list",
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", property="findById")], NO_ROWS, NO_ROWS, id="another method"
        ),
        pytest.param(
            [rule("$everyone", "ALLOW", "WRITE")], NO_ROWS, NO_ROWS, id="another access type"
        ),
        pytest.param(
            [rule("$everyone", "ALLOW"), rule("$everyone", "DENY", "EXECUTE")],
            NO_ROWS,
            NO_ROWS,
            id="EXECUTE covers reading as well",
        ),
    ],
)
def test_the_closest_rule_decides(rules, stranger, user):
    assert decide(rules, user=None) == stranger
    assert decide(rules) == user


@pytest.mark.parametrize(
    ("rules", "decision"),
    [
        pytest.param([rule("$owner", "ALLOW")], OWN_ROWS, id="only the own rows"),
        pytest.param(
            [rule("$owner", "DENY"), rule("$authenticated", "ALLOW")],
            OTHERS_ROWS,
            id="all but the own rows",
        ),
        pytest.param(
            [rule("$owner", "ALLOW"), rule("$everyone", "ALLOW")], ALL_ROWS, id="all rows"
        ),
    ],
)
def test_owner_rules_apply_to_rows(rules, decision):
    assert decide(rules) == decision


def test_anonymous_callers_own_no_rows():
    assert decide([rule("$owner", "ALLOW")], user=None) == NO_ROWS


def test_a_role_precedes_owner():
    rules = [rule("clerk", "ALLOW"), rule("$owner", "DENY")]

    assert decide(rules, roles=["clerk"]) == ALL_ROWS
    assert decide(rules, roles=["other"]) == NO_ROWS


def test_a_user_precedes_a_role():
    rules = [rule(7, "DENY"), rule("clerk", "ALLOW")]

    assert decide(rules, user=7, roles=["clerk"]) == NO_ROWS
    assert decide(rules, user=8, roles=["clerk"]) == ALL_ROWS


def test_only_roles_in_matching_rules_are_relevant():
    given = [rule("clerk", "ALLOW", property="find"), rule("$owner", "ALLOW")]
    rules = parse_rules(given, METHODS, INTEGER)

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
def test_invalid_rules_are_rejected(broken):
    with pytest.raises(ValidationError):
        parse_rules([broken], METHODS, INTEGER)


@pytest.mark.parametrize(
    ("rules", "weak", "strong"),
    [
        pytest.param([rule("$strong", "ALLOW")], NO_ROWS, ALL_ROWS, id="only strong callers"),
        pytest.param(
            [rule("$owner", "ALLOW"), rule("$weak", "DENY")],
            NO_ROWS,
            OWN_ROWS,
            id="owners that are strong",
        ),
        pytest.param(
            [rule("$owner", "ALLOW"), rule("$strong", "ALLOW")],
            OWN_ROWS,
            ALL_ROWS,
            id="others' rows for strong callers",
        ),
        pytest.param(
            [rule("$strong", "ALLOW"), rule("$owner", "DENY", property="find")],
            NO_ROWS,
            OTHERS_ROWS,
            id="an exact property beats it",
        ),
        pytest.param(
            [rule("$strong", "ALLOW"), rule("clerk", "DENY")],
            NO_ROWS,
            ALL_ROWS,
            id="a role that the caller has not",
        ),
        pytest.param(
            [rule(7, "ALLOW"), rule("$weak", "DENY")], ALL_ROWS, ALL_ROWS, id="a user precedes it"
        ),
        pytest.param([rule("$weak", "ALLOW")], ALL_ROWS, NO_ROWS, id="only weak callers"),
    ],
)
def test_rules_may_ask_for_a_strong_session(rules, weak, strong):
    assert decide(rules, user=None) == NO_ROWS
    assert decide(rules) == weak
    assert decide(rules, roles=["$strong"]) == strong


def test_weak_callers_are_denied_what_a_role_of_the_same_rank_allows():
    rules = [rule("admin", "ALLOW"), rule("$weak", "DENY")]

    assert decide(rules, roles=["admin"]) == NO_ROWS
    assert decide(rules, roles=["admin", "$strong"]) == ALL_ROWS
