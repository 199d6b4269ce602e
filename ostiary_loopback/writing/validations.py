"""Validations in JavaScript that a model's properties can declare, such as `validatesLengthOf`."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.fields.base import MAX_TEXT
from app.properties.validators import Format
from ostiary_loopback.application import Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import Validation
from ostiary_loopback.literals import Expression, expressions

JsonObject = Mapping[str, Any]
# Options of every validation; `message` has no counterpart.
USUAL = ("message", "allowNull", "allowBlank")
PATTERN = re.compile(r"/(.+)/", re.DOTALL)
TEXTS, VALUES = ("string",), ("string", "number")
# Properties of users that are unique, and the one that is required, in any case.
UNIQUE_OF_USERS, REQUIRED_OF_USERS = ("email", "username"), ("email",)
ANY = ("string", "number", "integer", "boolean", "date", "object", "any")


def translate_validations(
    model: Model, is_user: bool, found: Iterable[Finding]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the properties of a model with its validations, and the validations in them."""
    properties = dict(model.mapping("properties"))
    done = []
    for finding in found:
        details = finding.details
        if finding.model == model.name and isinstance(details, Validation) and _is_literal(finding):
            changed = _changed(properties, is_user, details)
            if changed is not None:
                properties |= changed
                done.append(finding)
    return properties, done


def _is_literal(finding: Finding) -> bool:
    """Return True if the properties are named by literals, and not by variables."""
    details = finding.details
    properties = details.properties if isinstance(details, Validation) else ()
    return all(
        f"'{name}'" in finding.source or f'"{name}"' in finding.source for name in properties
    )


def _changed(
    properties: JsonObject, is_user: bool, details: Validation
) -> dict[str, JsonObject] | None:
    """Return the properties that a validation changes; None if they cannot declare it."""
    changed = {}
    for name in details.properties:
        if is_user and _holds_for_users(name, details):
            continue
        before = _property(properties.get(name))
        after = _with(before, details) if before else None
        if after is None:
            return None
        changed[name] = after
    return changed if details.properties else None


def _holds_for_users(name: str, details: Validation) -> bool:
    names = {"uniqueness": UNIQUE_OF_USERS, "presence": REQUIRED_OF_USERS}
    return name in names.get(details.kind, ())


def _property(declared: object) -> JsonObject | None:
    if isinstance(declared, str):
        return {"type": declared}
    return declared if isinstance(declared, Mapping) else None


def _with(property_: JsonObject, details: Validation) -> JsonObject | None:
    known = VALIDATIONS.get(details.kind)
    if known is None:
        return None
    keys, types, read = known
    type_ = str(property_.get("type")).lower()
    if set(details.options) - {*USUAL, *keys} or type_ not in types:
        return None
    if expressions({key: value for key, value in details.options.items() if key != "with"}):
        return None
    return read(property_, details.options)


def _presence(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    return {**property_, "required": True}


def _uniqueness(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    return {**property_, "unique": True}


def _length(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    limits = {key: options[key] for key in ("min", "max", "is") if key in options}
    if not limits or any(type(value) is not int or value < 0 for value in limits.values()):
        return None
    return _validated(property_, options, "length", limits)


def _inclusion(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    values = options.get("in")
    of_type = str if str(property_["type"]).lower() == "string" else (int, float)
    if not isinstance(values, list) or not values:
        return None
    if any(isinstance(value, bool) or not isinstance(value, of_type) for value in values):
        return None
    return _validated(property_, options, "in", values)


def _format(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    expression = options.get("with")
    # With flags, the text does not end with a slash.
    matched = PATTERN.fullmatch(expression.text) if isinstance(expression, Expression) else None
    if matched is None:
        return None
    pattern = matched[1].replace("\\/", "/")
    try:
        Format(pattern, MAX_TEXT)
    except ValueError:
        return None
    return _validated(property_, options, "format", pattern)


def _numericality(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    # The type of the property allows numbers alone.
    return None if options.get("int") else _strict(property_, options)


def _validated(
    property_: JsonObject, options: JsonObject, key: str, value: object
) -> JsonObject | None:
    validates = property_.get("validates") or {}
    if not isinstance(validates, Mapping) or key in validates:
        return None
    return _strict({**property_, "validates": {**validates, key: value}}, options)


def _strict(property_: JsonObject, options: JsonObject) -> JsonObject | None:
    """Return a property that is required, unless a value may be missing.

    In LoopBack 3, a value that is missing or null passes these validations only if the options
    allow it.
    """
    allowed = {options.get("allowNull") is True, options.get("allowBlank") is True}
    if len(allowed) > 1:
        return None
    return property_ if True in allowed else {**property_, "required": True}


Read = Callable[[JsonObject, JsonObject], JsonObject | None]
# By their kinds: further options, the types of properties, and what reads them.
VALIDATIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Read]] = {
    "presence": ((), ANY, _presence),
    "uniqueness": ((), VALUES, _uniqueness),
    "length": (("min", "max", "is"), TEXTS, _length),
    "inclusion": (("in",), VALUES, _inclusion),
    "format": (("with",), TEXTS, _format),
    "numericality": (("int",), ("number",), _numericality),
}
