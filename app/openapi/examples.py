"""Examples of filters, conditions and aggregates of a resource's rows."""

from collections.abc import Mapping

from app.rest.aggregates.parser import ROWS
from app.rest.aggregates.properties import Properties
from app.rest.collection import Collection
from app.rest.filters.tree import OTHERS

from .filter_schemas import TEXT, DocumentPart

COUNTED = {"rows": {"count": ROWS}}
LIMIT = 10


def examples_of(form: str, resource: Collection, body: Mapping[str, object]) -> DocumentPart:
    """Return examples of a `filter`, a `where` or an aggregate, by their names.

    `usual` selects the row that this body creates, or aggregates all rows. `related` is about the
    rows that a relation to one leads to, if there is such a relation.
    """
    usual, related = _where(resource, body), _related_where(resource)
    if form == "aggregate":
        found = {"usual": _aggregate(resource), "related": _related_aggregate(resource, related)}
    elif form == "where":
        found = {"usual": usual, "related": related}
    else:
        found = {"usual": {"where": usual, "order": f"{resource.id_name} DESC", "limit": LIMIT}}
        if related:
            [(relation, condition)] = related.items()
            order = f"{relation}.{next(iter(condition))}"
            found["related"] = {"where": related, "order": order, "limit": LIMIT}
    return {name: example for name, example in found.items() if example}


def _where(resource: Collection, body: Mapping[str, object]) -> DocumentPart:
    values = {
        name: value
        for name, value in body.items()
        if name in resource.filterable and isinstance(value, str)
    }
    name = next(iter(values), resource.id_name)
    return {name: values.get(name, resource.id_form.example)}


def _related_where(resource: Collection) -> DocumentPart:
    """Return a condition on a property of a relation to one, a text if there is one, or nothing."""
    for relation, related in resource.filtered_model.usable(resource.shown_relations):
        kinds = {name: kind for name, kind in related.properties.items() if name != OTHERS}
        if not related.is_many and kinds:
            texts = (name for name, kind in kinds.items() if kind.schema == TEXT)
            name = next(texts, "")
            is_met: DocumentPart = {"like": "%a%"} if name else {"exists": True}
            return {relation: {name or next(iter(kinds)): is_met}}
    return {}


def _aggregate(resource: Collection) -> DocumentPart:
    """Return an aggregate that works with any rows."""
    functions = dict(COUNTED)
    uses = Properties(resource, resource.filtered_model).uses().items()
    if ordered := next((name for name, use in uses if "max" in use.functions), None):
        functions["last"] = {"max": ordered}
    return {"aggregate": functions}


def _related_aggregate(resource: Collection, where: DocumentPart) -> DocumentPart:
    """Return an aggregate by the property that a condition is on, or nothing."""
    properties = dict(Properties(resource, resource.filtered_model).related())
    for relation, condition in where.items():
        name = next(iter(condition))
        use = properties[relation].related_uses().get(name) if relation in properties else None
        if use is not None and use.is_grouped:
            return {"groupBy": f"{relation}.{name}", "aggregate": COUNTED, "limit": LIMIT}
    return {}
