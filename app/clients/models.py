"""The types of models: their rows as they are read and written, and what filters may name."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .document import FORM, Document, Operation, Part, ref_name
from .kinds import is_aggregated, kinds_of
from .layout import block, line
from .names import Names, key, type_name, union
from .schemas import Types

RELATIONS = "WithRelations"
NEW, PARTIAL, REPLACEMENT, UPSERT = "New{}", "{}Partial", "{}Replacement", "{}Upsert"
# The description of a model without one of its own.
MADE = re.compile(r"(A row of \S+\.)?")
# What the names of a model's types end in.
SUFFIXES = ("Create", "Update", "Replacement", "Filter", "Model")


@dataclass(frozen=True)
class Relation:
    """A relation that the rows of a model may include."""

    name: str
    # The models that it leads to; none for embedded objects, which have the schema.
    targets: Sequence[str]
    is_many: bool
    is_filtered: bool
    schema: Part


@dataclass(frozen=True)
class Model:
    """A model of the document, with the name of its type and the type of its ids in paths."""

    name: str
    type: str
    id: str


class Models:
    """The models that a client has; each has types for rows, bodies and filters."""

    def __init__(self, document: Document, operations: Sequence[Operation], names: Names) -> None:
        """Find the models of the operations, and those that their relations lead to."""
        self._schemas = document.schemas
        self._files = {
            document.models.get(each.tag, ""): _files(each.body[FORM])
            for each in operations
            if each.method == "create" and FORM in each.body
        }
        self._body_names = {ref_name(part) for each in operations for part in each.body.values()}
        found = {self.model_of(ref_name(part)) for each in operations for part in _parts(each)}
        found |= set(document.models.values())
        by_type = {
            name: names.give(type_name(name), "Row", SUFFIXES)
            for name in sorted(self._reachable({name for name in found if self._is_model(name)}))
        }
        given = {form: type_ for name in by_type for form, type_ in self._forms(name, by_type)}
        self.types = Types(document, given, names)
        ids = dict(self._ids(document, operations))
        self.by_name = {
            name: Model(name, type_, ids.get(name) or self._id_of_rows(name))
            for name, type_ in by_type.items()
        }

    def written(self) -> Iterator[list[str]]:
        """Yield the declarations of each model's types."""
        for model in self.by_name.values():
            schema = self._schemas[model.name]
            text = "" if MADE.fullmatch(schema.get("description", "")) else schema["description"]
            rows = self.types.interface(model.type, schema, text)
            yield [*rows, *self._bodies(model), *self._filter(model)]

    def model_of(self, name: str) -> str:
        """Return the name of the model whose rows a named schema is of."""
        return name.removesuffix(RELATIONS)

    def relations(self, name: str) -> list[Relation]:
        """Return the relations that a model's rows may include."""
        row = self._properties(name)
        where = self._properties(f"{name}Where")
        including = self._properties(f"{name}Filter").get("include", {})
        names = set(_names(including.get("items", {})))
        return [
            _relation(relation, part, _is_related(where.get(relation, {})))
            for relation, part in self._properties(f"{name}{RELATIONS}").items()
            if relation in names and (relation not in row or part == row[relation])
        ]

    def _is_model(self, name: str) -> bool:
        return f"{name}{RELATIONS}" in self._schemas

    def _properties(self, name: str) -> Part:
        found: Part = self._schemas.get(name, {}).get("properties", {})
        return found

    def _reachable(self, names: set[str]) -> set[str]:
        """Return these models, and those that their relations lead to."""
        found: set[str] = set()
        while names:
            found |= names
            relations = [relation for name in names for relation in self.relations(name)]
            names = {target for relation in relations for target in relation.targets} - found
        return found

    def _forms(self, name: str, by_type: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the names of a model's schemas with their types."""
        type_ = by_type[name]
        is_own = self._shape(REPLACEMENT.format(name)) != self._shape(NEW.format(name))
        yield name, type_
        yield f"{name}{RELATIONS}", f"Partial<{type_}>"
        yield NEW.format(name), f"{type_}Create"
        yield PARTIAL.format(name), f"{type_}Update"
        yield REPLACEMENT.format(name), f"{type_}{'Replacement' if is_own else 'Create'}"
        yield UPSERT.format(name), f'{type_}Model["upsert"]'
        yield f"{name}Filter", f"{type_}Filter"
        yield f"{name}Where", f"Where<{type_}Model>"
        yield f"{name}RelatedWhere", f"Where<{type_}Model>"

    def _shape(self, name: str) -> object:
        """Return what of an object's schema its type depends on."""
        schema = self._schemas.get(name, {})
        required = sorted(schema.get("required", ()))
        return schema.get("properties", {}), required, schema.get("additionalProperties")

    def _ids(
        self, document: Document, operations: Iterable[Operation]
    ) -> Iterator[tuple[str, str]]:
        """Yield models with the types of their ids in paths."""
        for operation in operations:
            model = document.models.get(operation.tag)
            for parameter in operation.placed("path"):
                if parameter["name"] == "id" and model:
                    yield model, self.types.of(parameter["schema"])

    def _id_of_rows(self, name: str) -> str:
        row = self._properties(name)
        return self.types.of(row["id"]) if "id" in row else "string | number"

    def _is_written(self, model: Model) -> bool:
        forms = (NEW, PARTIAL, REPLACEMENT, UPSERT)
        return any(form.format(model.name) in self._body_names for form in forms)

    def _bodies(self, model: Model) -> Iterator[str]:
        """Yield the types of what is written."""
        if not self._is_written(model):
            return
        name, create = model.type, f"{model.type}Create"
        new, partial, replacement = (
            self._schemas.get(form.format(model.name), {}) for form in (NEW, PARTIAL, REPLACEMENT)
        )
        yield from line(f"export type {create} = {self._body(model, new)};")
        is_partial = self.types.members(new) == self.types.members(partial)
        update = f"Partial<{create}>" if is_partial else self._body(model, partial)
        yield from line(f"export type {name}Update = {update};")
        if self.types.named(REPLACEMENT.format(model.name)) != create:
            yield from line(f"export type {name}Replacement = {self._body(model, replacement)};")

    def _body(self, model: Model, schema: Part) -> str:
        """Return the type of a body, made of the properties of rows that have the same types."""
        required = set(schema.get("required", ()))
        rows = self.types.members(self._schemas[model.name])
        members = self.types.members(schema)
        same = [name for name, kind in members.items() if rows.get(name) == kind]
        always = [name for name in same if name in required]
        other = [
            f"{key(name)}{'' if name in required else '?'}: {kind}"
            for name, kind in members.items()
            if name not in same
        ]
        sometimes = [name for name in same if name not in required]
        parts = [
            *([f"Pick<{model.type}, {union(always)}>"] if always else []),
            *([f"Partial<Pick<{model.type}, {union(sometimes)}>>"] if sometimes else []),
            *([f"{{ {'; '.join(other)} }}"] if other else []),
            *(["Record<string, unknown>"] if schema.get("additionalProperties") is True else []),
        ]
        return " & ".join(parts) or "{}"

    def _filter(self, model: Model) -> Iterator[str]:
        """Yield the types of filters, and what they are made of."""
        where = self._schemas.get(f"{model.name}Where", {})
        aggregate = self._schemas.get(f"{model.name}Aggregate", {})
        kinds = kinds_of(where, aggregate, self.types)
        properties = "; ".join(f"{key(name)}: {kind}" for name, kind in kinds.items())
        relations = "; ".join(
            f"{key(each.name)}: {self._relation_type(each)}" for each in self.relations(model.name)
        )
        lines = [
            f"properties: {_object(properties)};",
            *([f"relations: {_object(relations)};"] if relations else []),
            *self._upsert(model),
            *([] if is_aggregated(aggregate) else ["counted: true;"]),
            *(["open: true;"] if where.get("additionalProperties") is True else []),
        ]
        rows = f"export interface {model.type}Model extends Rows<{', '.join(self._rows(model))}>"
        yield from block(rows, (part for text in lines for part in line(text)))
        yield f"export type {model.type}Filter = Filter<{model.type}Model>;"

    def _rows(self, model: Model) -> list[str]:
        """Return what `Rows` of a model is made of, without what is the default."""
        create, update, replace = f"{model.type}Create", f"{model.type}Update", ""
        if self._is_written(model):
            replace = self.types.named(REPLACEMENT.format(model.name))
            if files := self._files.get(model.name):
                create += f" & {{ {'; '.join(f'{key(name)}?: Blob' for name in files)} }}"
        else:
            create = update = replace = "never"
        defaults = [create, "never", self._id_of_rows(model.name)]
        parts = [replace, union(self._protected(model.name)), model.id]
        while parts and parts[-1] == defaults[len(parts) - 1]:
            parts.pop()
        return [model.type, create, update, *parts]

    def _upsert(self, model: Model) -> Iterator[str]:
        """Yield the type of an upsert's body, if it has more than an update's and an `id`."""
        update, upsert = (self._properties(form.format(model.name)) for form in (PARTIAL, UPSERT))
        more = {name: part for name, part in upsert.items() if name not in update}
        if more.keys() - {"id"} and self._is_written(model):
            yield f"upsert: {model.type}Update & {self._body(model, {'properties': more})};"

    def _protected(self, name: str) -> list[str]:
        """Return the properties that included rows do not show."""
        related = self._schemas.get(f"{name}RelatedWhere")
        if related is None:
            return []
        return [
            each for each in self._properties(f"{name}Where") if each not in related["properties"]
        ]

    def _relation_type(self, relation: Relation) -> str:
        if not relation.targets:
            return f"Embedded<{self.types.of(relation.schema)}>"
        models = " | ".join(f"{self.by_name[name].type}Model" for name in relation.targets)
        if relation.is_filtered:
            return f"{'Many' if relation.is_many else 'One'}<{models}>"
        return f"Included<{models}, {'true' if relation.is_many else 'false'}>"


def _files(form: Part) -> list[str]:
    """Return the properties that are sent as files with a row."""
    parts = form.get("properties", {}).items()
    return [name for name, part in parts if part.get("format") == "binary"]


def _object(members: str) -> str:
    return f"{{ {members} }}" if members else "{}"


def _parts(operation: Operation) -> list[Part]:
    answer = [operation.answer[1]] if operation.answer else []
    return [*operation.body.values(), *answer]


def _names(include: Part) -> list[str]:
    """Return the names of relations that an item of `include` may have."""
    return [name for form in include.get("anyOf", []) for name in form.get("enum", [])]


def _is_related(condition: Part) -> bool:
    return any("$ref" in form for form in condition.get("anyOf", []))


def _relation(name: str, schema: Part, is_filtered: bool) -> Relation:
    item = schema.get("items", schema)
    forms = [form.get("$ref", "") for form in item.get("anyOf", [item])]
    targets = [
        form.rpartition("/")[2].removesuffix(RELATIONS)
        for form in forms
        if form.endswith(RELATIONS)
    ]
    return Relation(name, targets, "items" in schema, is_filtered, schema)
