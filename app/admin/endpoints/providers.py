"""The identity providers."""

from collections.abc import Mapping, Sequence

from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import ProviderSchema
from app.oauth.clients import clients, count_users

OPENID, OAUTH = "OpenID Connect", "OAuth 2.0"


@call("findProviders", READ, "GET /providers", answer=[ProviderSchema])
def find_providers() -> Sequence[Mapping[str, object]]:
    """List the identity providers, each with the number of users who can log in by it."""
    providers = [client.provider for client in clients.current.values()]
    return [
        {
            "name": provider.name,
            "label": provider.label,
            "protocol": OPENID if provider.preset.is_openid else OAUTH,
            "issuer": provider.issuer,
            "users": count_users(provider.issuer),
        }
        for provider in providers
    ]
