"""Rules in LoopBack 3's form, of settings and of models in JSON."""

from collections.abc import Collection
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate

from app.ids import IdForm

from .rules import EXECUTE, READ, WRITE, Principal, Rule, UserPrincipal, check_methods

# LoopBack 3 has AUDIT and ALARM, which allow a call as well and have no other effect.
PERMISSIONS = ("ALLOW", "ALARM", "AUDIT", "DENY")


class RuleSchema(Schema):
    """A rule in the settings, in LoopBack 3's form."""

    principalType = fields.String(validate=validate.OneOf(["ROLE", "USER"]), load_default="ROLE")  # noqa: N815
    principalId = fields.Raw(required=True)  # noqa: N815
    permission = fields.String(required=True, validate=validate.OneOf(PERMISSIONS))
    accessType = fields.String(  # noqa: N815
        validate=validate.OneOf([READ, WRITE, EXECUTE, "*"]), load_default="*"
    )
    property = fields.Raw(load_default="*")


def parse_rules(settings: Any, methods: Collection[str], id_form: IdForm) -> list[Rule]:
    """Read rules in LoopBack 3's form for a model with these methods.

    `id_form` is that of users' ids. Raises ValidationError for an invalid rule.
    """
    rules = [_parse(loaded, id_form) for loaded in RuleSchema(many=True).load(settings)]
    check_methods(rules, methods)
    return rules


def _parse(settings: dict[str, Any], id_form: IdForm) -> Rule:
    named = settings["property"]
    properties = frozenset([named] if isinstance(named, str) else named)
    principal = _parse_principal(settings, id_form)
    return Rule(principal, settings["permission"] != "DENY", settings["accessType"], properties)


def _parse_principal(settings: dict[str, object], id_form: IdForm) -> Principal:
    principal = settings["principalId"]
    if settings["principalType"] == "USER":
        user_id = id_form.parse(str(principal))
        if user_id is None:
            raise ValidationError(f"the user {principal!r} must be {id_form.description}")
        return UserPrincipal(user_id)
    if not isinstance(principal, str):
        raise ValidationError(f"the role {principal!r} must be text")
    return principal
