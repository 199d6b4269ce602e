"""Many-to-many relations: through a model, or through a link table of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from app.database.session import db
from app.properties.declaration import Declaration
from app.rest.relations import THROUGH, Relation

from .keys import belongs_to
from .related_models import ForeignKeys, RelatedModel, RelatedModels
from .roles import RESOURCES


@dataclass(frozen=True)
class LinkTable:
    """The link table of a hasAndBelongsToMany relation without a model."""

    name: str
    # The columns of the two ids, each with the model that it refers to.
    keys: Mapping[str, RelatedModel]

    @cached_property
    def model(self) -> type[object]:
        """The class that is mapped to the table."""
        return type(self.name, (), {})


class ManyToMany:
    """Finds the models through which many-to-many relations lead, or creates link tables."""

    def __init__(self, models: RelatedModels, keys: ForeignKeys) -> None:
        self._models = models
        self._keys = keys
        self.link_tables: dict[str, LinkTable] = {}

    def link(
        self, own: RelatedModel, target: RelatedModel, relation: Declaration
    ) -> Relation | None:
        """Return a many-to-many relation; None, with a problem or warning, if keys are missing."""
        through, named = self._model_between(own, target, relation), relation["through"]
        if through is None and not named.value:
            return self._link_by_table(own, target, relation)
        if through is None:
            named.report_unknown(f"there is no model {named.value!r}", "is not served")
            return None
        if problem := _problem_of(through, own, target):
            named.warn(f"is not served: {problem}")
            return None
        key, other = self._keys_between(own, through, target, relation)
        column = self._keys.add(through, key, own, relation)
        target_column = self._keys.add(through, other, target, relation)
        if not column or not target_column:
            return None
        return Relation(THROUGH, target.resource, column, through.model, target_column)

    def _keys_between(
        self, own: RelatedModel, through: RelatedModel, target: RelatedModel, relation: Declaration
    ) -> tuple[str, str]:
        """Return the foreign keys of the model in between: to this model, and to the target."""
        declared, keys = relation.mapping, self._keys_of(through)
        key = str(declared.get("foreignKey") or _key_to(own, keys, ""))
        if target is not own and keys.get(key) is target:
            # The key of the other side, as its relation declares it.
            return _key_to(own, keys, key), key
        return key, str(declared.get("keyThrough") or _key_to(target, keys, key))

    def _model_between(
        self, own: RelatedModel, target: RelatedModel, relation: Declaration
    ) -> RelatedModel | None:
        """Return the model in between: the declared one, or LoopBack 3's default."""
        if named := relation.mapping.get("through"):
            return self._models.find(named)
        if own.definition is None or target.definition is None:
            return None
        names = (own.definition.name, target.definition.name)
        found = map(self._models.find, ("".join(names), "".join(reversed(names))))
        return next((model for model in found if model and not model.holds_users), None)

    def _keys_of(self, through: RelatedModel) -> dict[str, RelatedModel | None]:
        """Return the foreign keys of the relations of a model in JSON, with their targets."""
        relations = through.definition.relations if through.definition else {}
        return {
            relation.key: self._models.find(relation.model) for relation in belongs_to(relations)
        }

    def _link_by_table(
        self, own: RelatedModel, target: RelatedModel, relation: Declaration
    ) -> Relation:
        """Link two models by a table that both sides of the relation share."""
        key, other = f"{own.table}_id", f"{target.table}_id"
        if key == other:
            other = f"other_{other}"
        table = "_".join(sorted((own.table, target.table)))
        ends = {key: own, other: target}
        made = self.link_tables.setdefault(table, LinkTable(table, ends))
        if holder := self._holder(made, ends):
            relation.add(f"its table {table} is that of {holder} too; set through")
        return Relation(THROUGH, target.resource, key, made.model, other)

    def _holder(self, links: LinkTable, ends: Mapping[str, RelatedModel]) -> str:
        """Return the owner of a link table's name, if it is taken by something else.

        Two models with the same table are another problem, which is reported elsewhere.
        """
        if links.keys != ends:
            return "" if _share_tables(links.keys, ends) else _names(links)
        models = self._models.definitions.values()
        others = (definition.name for definition in models if definition.table == links.name)
        return next(others, "Ostiary" if links.name in db.metadata.tables else "")


def _names(links: LinkTable) -> str:
    return " and ".join(model.name for model in links.keys.values())


def _share_tables(first: Mapping[str, RelatedModel], second: Mapping[str, RelatedModel]) -> bool:
    """Return True if the keys have the same models, or models in JSON that share a table."""
    return first.keys() == second.keys() and all(
        model == second[key] or (_has_own_table(model) and _has_own_table(second[key]))
        for key, model in first.items()
    )


def _has_own_table(model: RelatedModel) -> bool:
    """Return True for a model in JSON with a table of its own; users have the service's."""
    return model.definition is not None and not model.holds_users


def _key_to(target: RelatedModel, keys: Mapping[str, RelatedModel | None], own_key: str) -> str:
    """Return the key of the model in between that refers to the target."""
    found = (key for key, model in keys.items() if model is target and key != own_key)
    return next(found, target.usual_key)


def _problem_of(through: RelatedModel, own: RelatedModel, target: RelatedModel) -> str:
    """Return why a model cannot link two others; empty if it can."""
    if through.holds_users:
        return "users are no model between others"
    if through.resource in RESOURCES and target.resource not in RESOURCES:
        # Otherwise nothing would prevent writing its links.
        return f"{through.resource} leads to roles only"
    if through.resource in RESOURCES and not own.holds_users:
        # The id of a row would be taken for that of a user, whose roles others must not see.
        return f"{through.resource} has the roles of users only"
    return ""
