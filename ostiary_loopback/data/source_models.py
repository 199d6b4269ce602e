"""The models of an application as its connectors store them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ostiary_loopback.application import Application, as_mapping

# The properties of LoopBack's own models, with those that their relations add.
OWN: Mapping[str, tuple[str, ...]] = {
    "User": ("realm", "username", "password", "email", "emailVerified", "verificationToken"),
    "AccessToken": ("ttl", "scopes", "created", "userId", "principalType"),
    "Role": ("name", "description", "created", "modified"),
    "RoleMapping": ("principalType", "principalId", "roleId"),
    "ACL": ("model", "property", "accessType", "permission", "principalType", "principalId"),
    "Application": ("name",),
    "UserIdentity": (
        *("provider", "authScheme", "externalId", "profile", "credentials"),
        *("userId", "created", "modified"),
    ),
    "UserCredential": ("provider", "authScheme", "externalId", "userId"),
}


@dataclass(frozen=True)
class SourceModel:
    """A model: the names of its properties, and the settings of its tables and columns."""

    name: str
    # LoopBack's own model that it is or extends; PersistedModel for most.
    root: str = "PersistedModel"
    id_name: str = "id"
    # All known properties by name, each with the settings for connectors.
    properties: Mapping[str, Mapping[str, Any]] | None = None
    settings: Mapping[str, Any] | None = None

    def connector(self, name: str) -> Mapping[str, Any]:
        """Return the settings of the definition for a connector, such as the table."""
        return as_mapping((self.settings or {}).get(name))

    def column(self, property_name: str, connector: str) -> str | None:
        """Return the column of a property that the definition names."""
        declared = (self.properties or {}).get(property_name, {})
        named = as_mapping(declared.get(connector)).get("columnName")
        return named if isinstance(named, str) else None


def source_model(
    application: Application, name: str, further: Iterable[str] = (), id_name: str | None = None
) -> SourceModel:
    """Return a model by its name; `further` are names of properties that relations add."""
    chain = application.bases(name)
    root = next((base for base in chain if base in OWN), "PersistedModel")
    properties: dict[str, Mapping[str, Any]] = {}
    settings: dict[str, Any] = {}
    for base in reversed(chain):
        properties |= {own: {} for own in OWN.get(base, ())}
        if model := application.models.get(base):
            declared = model.mapping("properties")
            properties |= {key: as_mapping(value) for key, value in declared.items()}
    if own_model := application.models.get(name):
        settings = {**own_model.options, **as_mapping(own_model.config.get("options"))}
    declared_id = next((key for key, value in properties.items() if value.get("id")), "id")
    properties |= {key: {} for key in further if key not in properties}
    return SourceModel(name, root, id_name or declared_id, properties, settings)
