"""Identities at providers, from the passport component's UserIdentity."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import cast

from flask import Flask
from sqlalchemy import Table

from app.oauth import clients
from app.oauth.models import MAX_SUBJECT, ExternalIdentity
from app.oauth.presets import PRESETS
from app.times import now

from .batches import Plan, Values
from .moved import Refused
from .source_models import SourceModel
from .sources.base import Row
from .user_ids import UserIds
from .values import InvalidValue, to_text, to_time

# The suffixes of the names of entries of providers.json.
SUFFIXES = ("-login", "-link", "-token")


def identities(app: Flask, model: SourceModel, ids: UserIds, users: str, zone: tzinfo) -> Plan:
    """Return the plan; they belong to a model of `users`. Credentials and profiles are not kept."""
    issuers = _issuers(app)

    def convert(row: Row) -> Values:
        provider = str(row.get("provider") or "")
        issuer = issuers.get(provider) or issuers.get(_base(provider))
        if issuer is None:
            raise Refused("is of a provider whose issuer is not known")
        if not row.get("externalId"):
            raise Refused("has no externalId")
        user_id = ids.find(users, row.get("userId"))
        if user_id is None:
            raise Refused("has no user")
        created = _time(zone, row.get("created"))
        return {
            "user_id": user_id,
            "provider": _base(provider)[:64],
            "issuer": issuer,
            "subject": to_text(MAX_SUBJECT, row["externalId"]),
            "profile": {},
            "created": created or now(),
            "last_used": _time(zone, row.get("modified")) or created or now(),
            "proven_email": None,
        }

    table = cast("Table", ExternalIdentity.__table__)
    return Plan(
        model,
        table,
        convert,
        key=("issuer", "subject"),
        properties={"user_id": "userId"},
    )


def _time(zone: tzinfo, value: object) -> object:
    try:
        return None if value is None else to_time(zone, value)
    except InvalidValue:
        return None


def _base(provider: str) -> str:
    for suffix in SUFFIXES:
        provider = provider.removesuffix(suffix)
    return provider


def _issuers(app: Flask) -> Mapping[str, str]:
    """Return the issuers of the app's providers and of known ones, by their names."""
    known = {
        name: preset.issuer
        for name, preset in PRESETS.items()
        if preset.issuer and "{" not in preset.issuer
    }
    configured = [client.provider for client in clients.of(app).values()]
    return (
        known
        | {provider.provider: provider.issuer for provider in configured}
        | {provider.name: provider.issuer for provider in configured}
    )
