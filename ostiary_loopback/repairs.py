"""Values of models with which LoopBack 3 runs and Ostiary does not start: left out, or mended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.definitions.bases import BUILT_IN
from app.definitions.switches import DISABLED, REMOTING, SHARED
from app.problems import Problems
from app.properties.declaration import Declaration
from app.properties.properties import read_property

from .application import Application, Model, as_mapping

JsonObject = Mapping[str, Any]
# Keys of LoopBack 3's mixin for times, with the properties that it adds.
TIMES = {"createdAt": "createdAt", "updatedAt": "updatedAt"}
# The connectors to databases in SQL, which ignore conditions on properties that do not exist.
SQL = ("postgresql", "mysql", "mssql", "oracle", "sqlite3", "db2")
TYPES: Mapping[type, str] = {bool: "boolean", int: "number", float: "number", str: "string"}
POSITION = "geopoint"
CONDITIONS = ("and", "or", "nor")
# The methods of a relation to one row, and to several, without the underscores.
TO_ONE = ("get", "create", "update", "destroy")
TO_MANY = ("get", "create", "delete", "count", "findById", "updateById", "destroyById")
LINKS = ("exists", "link", "unlink")
CALLS: Mapping[str, Sequence[str]] = {
    "belongsTo": TO_ONE[:1],
    "hasOne": TO_ONE,
    "hasMany": TO_MANY,
    "hasAndBelongsToMany": (*TO_MANY, *LINKS),
}


def repair(application: Application, model: Model) -> tuple[dict[str, Any], list[str]]:
    """Return the definition of a model, with a sentence for each value that is different in it."""
    changes = list[str]()
    definition = dict(model.definition)
    properties = definition.get("properties")
    if isinstance(properties, Mapping):
        definition["properties"] = dict(_properties(properties, changes))
    changes += _switches(definition)
    for holder, path in [] if application.is_user(model) else _with_scopes(definition):
        ignores = application.connector(model) in SQL
        scope = _Scope(application, model, path, changes, ignores)
        holder["scope"] = scope.repaired(holder["scope"])
        changes += [
            f"properties.{name} is declared, of the type {type_}: {path} names it"
            for name, type_ in scope.undeclared.items()
        ]
        if scope.undeclared:
            added = {name: {"type": type_} for name, type_ in scope.undeclared.items()}
            definition["properties"] = {**as_mapping(definition.get("properties")), **added}
    if relations := as_mapping(definition.get("relations")):
        definition["relations"] = dict(_related(application, relations, changes))
        if off := list(_misnamed(application, definition["relations"], changes)):
            definition[DISABLED] = [*_items(definition.get(DISABLED)), *off]
    return definition, changes


def _properties(properties: JsonObject, changes: list[str]) -> Iterator[tuple[str, object]]:
    """Yield the properties of a model without the keys that are problems."""
    for name, declared in properties.items():
        if not isinstance(declared, Mapping):
            yield name, declared
            continue
        path = f"properties.{name}"
        kept = dict(declared)
        if kept.get("required") not in (None, True, False, "true", "false"):
            kept["required"] = bool(kept["required"])
            changes.append(f"{path}.required is {str(kept['required']).lower()}")
        problems = Problems()
        read_property(name, Declaration(kept, problems, path))
        for problem in problems.errors:
            key = problem.path.removeprefix(f"{path}.")
            if key in kept and key != "type":
                del kept[key]
                changes.append(f"{problem.path} is left out: {problem.message}")
        yield name, kept


def _switches(definition: JsonObject) -> Iterator[str]:
    """Yield a sentence if the file of a model switches methods off, which only has effect here."""
    for path, holder in (("", definition), ("options.", as_mapping(definition.get("options")))):
        if as_mapping(holder.get(REMOTING)).get(SHARED) or holder.get(SHARED):
            yield (
                f"{path}{REMOTING}.{SHARED} switches methods off: LoopBack 3 only uses that of"
                " model-config.json, and serves them"
            )


def _with_scopes(definition: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the definition and its options, if they have a `scope`; the latter are copied."""
    if isinstance(definition.get("scope"), Mapping):
        yield definition, "scope"
    options = definition.get("options")
    if isinstance(options, Mapping) and isinstance(options.get("scope"), Mapping):
        definition["options"] = dict(options)
        yield definition["options"], "options.scope"


def _related(
    application: Application, relations: JsonObject, changes: list[str]
) -> Iterator[tuple[str, object]]:
    """Yield the relations of a model whose scopes are filters of the models they lead to."""
    for name, relation in relations.items():
        declared = as_mapping(relation)
        target = application.models.get(str(declared.get("model")))
        if target is None or not isinstance(declared.get("scope"), Mapping):
            yield name, relation
            continue
        # The scope of a relation through a model is about the rows of the latter in LoopBack 3.
        ignores = "through" not in declared and application.connector(target) in SQL
        scope = _Scope(application, target, f"relations.{name}.scope", changes, ignores)
        repaired = scope.repaired(declared["scope"])
        if not scope.undeclared:
            yield name, {**declared, "scope": repaired}
            continue
        names = ", ".join(scope.undeclared)
        changes.append(
            f"relations.{name} is left out: its scope names {names}, and {target.name} has no such"
            " property"
        )


def _misnamed(application: Application, relations: JsonObject, changes: list[str]) -> Iterator[str]:
    """Yield the methods of relations to models whose names are in another case."""
    names = {*application.models, *BUILT_IN}
    known = {name.lower(): name for name in names}
    for name, relation in relations.items():
        declared = as_mapping(relation)
        model = str(declared.get("model"))
        methods = CALLS.get(str(declared.get("type")), ())
        if methods and model not in names and model.lower() in known:
            links = LINKS if "through" in declared else ()
            yield from (f"prototype.__{method}__{name}" for method in (*methods, *links))
            changes.append(
                f"relations.{name} has no calls: it leads to {known[model.lower()]} here, and"
                f" LoopBack 3 does not serve it, as there is no model {model}"
            )


class _Scope:
    """A default filter of a model, whose properties may not exist."""

    def __init__(
        self,
        application: Application,
        model: Model,
        path: str,
        changes: list[str],
        ignores: bool,
    ) -> None:
        # Whether LoopBack 3 ignores conditions on properties that do not exist.
        self._ignores = ignores
        self._types = dict(_types(application, model))
        self._relations = _relations(application, model)
        # A model may keep properties that it does not declare.
        self._is_open = model.options.get("strict") is False
        self._path = path
        self._changes = changes
        # The properties that conditions name and that are not declared, with their types.
        self.undeclared: dict[str, str] = {}

    def repaired(self, scope: JsonObject) -> dict[str, Any]:
        """Return the filter without the parts that are problems."""
        kept = dict(scope)
        if isinstance(where := kept.get("where"), Mapping):
            kept["where"] = self._where(where)
        for key, is_usable in {"order": self._sorts, "include": self._is_related}.items():
            items = _items(kept.get(key))
            usable = list(filter(is_usable, items))
            if len(usable) < len(items):
                kept[key] = usable
        return {key: value for key, value in kept.items() if value != []}

    def _where(self, where: JsonObject) -> dict[str, Any]:
        kept = dict[str, Any]()
        for name, value in where.items():
            if name in CONDITIONS and isinstance(value, list):
                # LoopBack 3 also ignores branches without a condition.
                branches = [
                    self._where(item) if isinstance(item, Mapping) else item for item in value
                ]
                if branches := list(filter(None, branches)):
                    kept[name] = branches
            elif self._has(name) or name.partition(".")[0] in self._types:
                kept[name] = value
            elif self._ignores:
                self._leave_out(
                    f"where.{name}", "there is no such property, which LoopBack 3 ignores"
                )
            else:
                kept[name] = value
                self.undeclared[name] = TYPES.get(type(value), "any")
        return kept

    def _sorts(self, item: object) -> bool:
        name = str(item).split(" ")[0]
        if not self._has(name):
            self._leave_out(f"order {name}", "there is no such property")
        elif self._types.get(name) == POSITION:
            self._leave_out(f"order {name}", "positions have no order")
        else:
            return True
        return False

    def _is_related(self, item: object) -> bool:
        names = [item.get("relation")] if isinstance(item, Mapping) else [item]
        if isinstance(item, Mapping) and "relation" not in item:
            names = list(item)
        if set(map(str, names)) <= self._relations:
            return True
        self._leave_out(f"include {', '.join(map(str, names))}", "there is no such relation")
        return False

    def _has(self, name: str) -> bool:
        return name in self._types or name in self.undeclared or self._is_open

    def _leave_out(self, part: str, reason: str) -> None:
        self._changes.append(f"{self._path}.{part} is left out: {reason}")


def _items(value: object) -> list[Any]:
    """Return the items of a list, or of a text with commas."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return [] if value is None else [value]


def _types(application: Application, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the properties of a model and of its bases, foreign keys too, with their types."""
    yield "id", "id"
    for name in application.bases(model.name):
        base = application.models.get(name)
        yield from _own_types(base) if base else ()
    for other in application.models.values():
        for relation in other.mapping("relations").values():
            if as_mapping(relation).get("model") == model.name:
                usual = f"{other.name[:1].lower()}{other.name[1:]}Id"
                yield str(as_mapping(relation).get("foreignKey") or usual), "key"


def _own_types(model: Model) -> Iterator[tuple[str, str]]:
    for name, declared in model.mapping("properties").items():
        type_ = declared.get("type") if isinstance(declared, Mapping) else declared
        yield name, str(type_).lower()
    for name, relation in model.mapping("relations").items():
        if as_mapping(relation).get("type") == "belongsTo":
            yield str(as_mapping(relation).get("foreignKey") or f"{name}Id"), "key"
    for options in model.mapping("mixins").values():
        for key, usual in TIMES.items():
            yield str(as_mapping(options).get(key) or usual), "date"


def _relations(application: Application, model: Model) -> set[str]:
    bases = map(application.models.get, application.bases(model.name))
    return {name for base in bases if base for name in base.mapping("relations")}
