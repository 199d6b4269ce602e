"""The rules of models in JSON."""

from collections.abc import Collection, Mapping
from typing import Any

from marshmallow import ValidationError

from app.access.rules import EVERYONE, OWNER, Rule, allow, parse_rules
from app.ids import IdForm
from app.problems import Problems
from app.rest.shared_methods import ALIASES, PROTOTYPE

from .definition import Definition

# Types of principals of LoopBack 3 that no caller is.
OTHER_PRINCIPALS = ("APP", "APPLICATION", "SCOPE")
KEYS = ("principalType", "principalId", "permission", "accessType", "property")


def read_rules(
    definition: Definition, id_form: IdForm, problems: Problems
) -> list[tuple[str, Rule]]:
    """Return the rules of a model with their places, whatever methods they name."""
    default = "ALLOW" if definition.allows_by_default else "DENY"
    rules = [
        (path, _read(path, each, default, id_form, problems)) for path, each in definition.acls
    ]
    return [(path, rule) for path, rule in rules if rule is not None]


def applicable_rules(
    definition: Definition, methods: Mapping[str, bool], problems: Problems
) -> list[Rule]:
    """Return the rules of a model, given whether the rows of each of its methods have owners.

    Rules for methods that do not exist are left out, with a warning.
    """
    rules = [allow(EVERYONE)] if definition.allows_by_default else []
    for path, rule in definition.rules:
        rules += _applicable(path, rule, methods, problems)
    return rules


def _read(
    path: str, declared: Any, default: str, id_form: IdForm, problems: Problems
) -> Rule | None:
    if not isinstance(declared, Mapping):
        problems.add(path, "must be an object")
        return None
    problems.check_keys(path, declared, (*KEYS, "model"))
    given = {key: declared[key] for key in KEYS if declared.get(key)}
    if "principalType" not in given:
        problems.add(path, "has no principalType, which is ROLE or USER")
        return None
    if reason := _ineffective(given):
        problems.warn(path, f"is without effect: {reason}")
        return None
    if "permission" not in given:
        problems.warn(path, "has no permission: it does what defaultPermission says")
        given["permission"] = default
    names = _names(f"{path}.property", declared.get("property"), given["permission"], problems)
    if not names:
        return None
    try:
        return parse_rules([{**given, "property": names}], names, id_form)[0]
    except (ValidationError, ValueError, TypeError) as error:
        problems.add(path, _text(error))
        return None


def _ineffective(declared: Mapping[str, Any]) -> str:
    """Return why a rule that LoopBack 3 knows is about no call here, if that is so."""
    if (kind := declared.get("principalType")) in OTHER_PRINCIPALS:
        return f"there are no principals of the type {kind}"
    if declared.get("accessType") == "REPLICATE":
        return "nothing is replicated"
    return ""


def _names(path: str, given: Any, permission: str, problems: Problems) -> list[str]:
    """Return the methods that a rule names, or * for all."""
    if not given and not isinstance(given, list):
        return ["*"]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.add(path, "must be the name of a method, or a list of names")
        return []
    if not names:
        problems.warn(path, "names no method")
    if permission == "DENY":
        return [_canonical(name) for name in names]
    if names is given and "*" in names:
        problems.warn(path, "* in a list is no method; without property, a rule is for all of them")
        return [name for name in names if name != "*"]
    return names


def _text(error: Exception) -> str:
    """Return the sentence of an error; marshmallow's are by the number of the rule and its key."""
    messages = getattr(error, "messages", None)
    if not isinstance(messages, dict):
        return messages[0] if messages else str(error)
    return "; ".join(
        f"{key}: {' '.join(texts)}" for by_key in messages.values() for key, texts in by_key.items()
    )


def _canonical(name: str) -> str:
    """Return the name by which LoopBack 3 knows a method in rules.

    It ignores rules that have another. Here, those that deny have an effect all the same.
    """
    name = name.removeprefix(PROTOTYPE)
    return ALIASES.get(name, name)


def _applicable(
    path: str, rule: Rule, methods: Mapping[str, bool], problems: Problems
) -> list[Rule]:
    """Return the rule with those of its methods that it can be about."""
    for name in sorted(rule.properties - methods.keys() - {"*"}):
        problems.warn(f"{path}.property", f"there is no method {name}{_meant(name, methods)}")
    names: Collection[str] = rule.properties & (methods.keys() | {"*"})
    if rule.principal == OWNER:
        names = _owned(path, names, methods, problems)
    return [Rule(rule.principal, rule.allow, rule.access, frozenset(names))] if names else []


def _meant(name: str, methods: Collection[str]) -> str:
    """Return what to write for another name of a method."""
    meant = _canonical(name)
    return f" for rules that allow, as in LoopBack 3: write {meant}" if meant in methods else ""


def _owned(
    path: str, names: Collection[str], methods: Mapping[str, bool], problems: Problems
) -> Collection[str]:
    """Return the methods whose rows have owners."""
    if not any(methods.values()):
        problems.warn(path, "is without effect: the rows have no $owner, as no property says whose")
        return ()
    if unowned := sorted(each for each in names if each != "*" and not methods[each]):
        problems.warn(path, f"is without effect for {', '.join(unowned)}: it is not about a row")
    return [each for each in names if each == "*" or methods[each]]
