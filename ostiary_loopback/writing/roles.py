"""Role resolvers whose JavaScript is certain, as dynamic roles in Python."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from app.properties.properties import MAPPINGS, column_name
from ostiary_loopback.application import Application, Model, as_mapping
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import Membership, Value, ValueKind

from .models import resource_name
from .python import literal
from .settings import id_type, users_model, users_models

# The constants that a column of a type is compared with.
CONSTANTS = {"string": (str,), "boolean": (bool,), "number": (int, float)}
SIMPLE = ("string", "number")


class _Column(NamedTuple):
    """The content of a column: a simple type, or `key` with the model whose ids it holds."""

    type: str
    model: str | None = None


def models_of_role(application: Application, finding: Finding) -> list[Model]:
    """Return the models for whose rows a resolver is translated; none if it is not certain."""
    found = finding.details
    if not isinstance(found, Membership) or not _is_served(application, found.target):
        return []
    named = [
        model
        for model in application.models.values()
        if any(rule.get("principalId") == finding.name for rule in model.acls)
    ]
    if found.model:
        named = [model for model in named if model.name == found.model]
    is_certain = all(_is_certain(application, model, found) for model in named)
    return named if is_certain else []


def role_lines(application: Application, model: Model, found: Membership) -> str:
    """Return the body of the function of a dynamic role."""
    [(key, value)] = [item for item in found.where.items() if _is_of_row(item[1])]
    own = "id" if value.kind == ValueKind.ROW_ID else column_name(value.value)
    conditions = ", ".join(_condition(*item) for item in found.where.items() if item[0] != key)
    row, other = (
        f"get_resource({literal(resource_name(application, name))}).model"
        for name in (model.name, found.target)
    )
    return (
        f"    model, other = {row}, {other}\n"
        f"    found = select(other.{column_name(key)}).where({conditions})\n"
        f"    return model.{own}.in_(found)\n"
    )


def _condition(name: str, value: Value) -> str:
    column = f"other.{column_name(name)}"
    if value.kind == ValueKind.CALLER:
        return f"{column} == user_id"
    if value.value is None or isinstance(value.value, bool):
        return f"{column}.is_({value.value})"
    return f"{column} == {literal(value.value)}"


def _is_of_row(value: Value) -> bool:
    return value.kind in (ValueKind.ROW_ID, ValueKind.ROW)


def _is_served(application: Application, name: str) -> bool:
    model = application.models.get(name)
    is_user = model is not None and application.is_user(model)
    return bool(resource_name(application, name)) and not is_user


def _is_certain(application: Application, model: Model, found: Membership) -> bool:
    """Return True if each value can be compared with its column."""
    kinds = [value.kind for value in found.where.values()]
    return (
        model.name != found.target
        and _is_served(application, model.name)
        and kinds.count(ValueKind.CALLER) > 0
        and kinds.count(ValueKind.ROW_ID) + kinds.count(ValueKind.ROW) == 1
        and all(
            _fits(application, model, _column(application, found.target, name), value)
            for name, value in found.where.items()
        )
    )


def _fits(application: Application, model: Model, column: _Column | None, value: Value) -> bool:
    if column is None:
        return False
    if value.kind == ValueKind.CONSTANT:
        types = CONSTANTS.get(column.type, ())
        return value.value is None or type(value.value) in types
    if value.kind == ValueKind.ROW:
        own = _column(application, model.name, value.value)
        return own == column and (column.type in SIMPLE or column.model is not None)
    is_caller = value.kind == ValueKind.CALLER
    of = users_model(application) if is_caller else model
    if of is None or _has_other_id(of):
        return False
    if column.type == "number" and not (is_caller and len(users_models(application)) > 1):
        return id_type(application, of) == "integer"
    return column == _Column("key", of.name)


def _has_other_id(model: Model) -> bool:
    return any(
        name != "id" and as_mapping(declared).get("id")
        for name, declared in model.mapping("properties").items()
    )


def _column(application: Application, name: str, property_: str) -> _Column | None:
    """Return what a column of a model holds; None if that is not certain."""
    model = application.models[name]
    if property_ in (keys := dict(_keys(application, model))):
        return _Column("key", keys[property_])
    declared = model.mapping("properties").get(property_)
    declared = {"type": declared} if isinstance(declared, str) else declared
    if not isinstance(declared, Mapping) or any(key in declared for key in MAPPINGS):
        return None
    type_ = declared.get("type")
    return _Column(type_.lower()) if isinstance(type_, str) else None


def _keys(application: Application, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the foreign keys of a model, with the models whose ids they are."""
    for name, relation in _relations(application, model):
        if relation.get("type") == "belongsTo":
            yield str(relation.get("foreignKey") or f"{name}Id"), str(relation["model"])
    for other in application.models.values():
        for _, relation in _relations(application, other):
            if relation["model"] == model.name and relation.get("type") in ("hasMany", "hasOne"):
                usual = f"{other.name[:1].lower()}{other.name[1:]}Id"
                if not relation.get("through"):
                    yield str(relation.get("foreignKey") or usual), other.name


def _relations(
    application: Application, model: Model
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the relations between models that are served, but for polymorphic ones."""
    for name, relation in model.mapping("relations").items():
        target = application.models.get(str(as_mapping(relation).get("model")))
        if target and target.is_configured and not relation.get("polymorphic"):
            yield name, relation
