"""The commands `ostiary providers`."""

from typing import TYPE_CHECKING

import click

from app.commands import CommandGroup

from . import clients
from .errors import ProviderError

if TYPE_CHECKING:
    from .client import ProviderClient

providers = CommandGroup("providers", help="Check the identity providers.")


@providers.command()
def check() -> None:
    """Fetch the metadata of each provider and print the result; exit with 1 if one fails."""
    results = [_check(client) for client in clients.current.values()]
    if not results:
        click.echo("There are no providers.")
    if not all(results):
        raise click.exceptions.Exit(1)


def _check(client: "ProviderClient") -> bool:
    """Print the metadata of a provider; return False if that fails."""
    provider = client.provider
    click.echo(f"{provider.name}: {provider.label}, {provider.issuer}")
    for route in filter(None, (provider.login, provider.link)):
        click.echo(f"  {route.path} needs the redirect URI {client.redirect_uri(route)}")
    if not provider.preset.is_openid:
        click.echo("  OAuth 2.0: it publishes nothing that could be checked")
        return True
    try:
        with client.http.deadline():
            _print_discovery(client)
    except ProviderError as error:
        click.echo(f"  failed: {error}")
        return False
    return True


def _print_discovery(client: "ProviderClient") -> None:
    metadata = client.discovery.metadata()
    keys = list(client.discovery.keys())
    kinds = ", ".join(sorted({key.key_type for key in keys}))
    click.echo(f"  authorization endpoint {metadata.authorization_endpoint}")
    click.echo(f"  token endpoint {metadata.token_endpoint}")
    click.echo(f"  {len(keys)} keys for signatures: {kinds}")
    click.echo(f"  PKCE with S256: {'yes' if metadata.supports_pkce else 'not announced'}")
    click.echo(f"  issuer in its answers: {'yes' if metadata.sends_issuer else 'no'}")
