"""Checks of an ID token: signature and claims (OpenID Connect Core, 3.1.3.7)."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from joserfc import jws, jwt
from joserfc.errors import JoseError

from .discovery import TENANT, Discovery
from .errors import MALFORMED, ProviderError
from .schemas import MAX_ID_TOKEN

# The claims of an ID token by name.
TokenClaims = dict[str, Any]

# Only asymmetric algorithms: not `none`, nor any whose key would be the client's secret.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
#: Seconds by which a provider's clock may differ.
LEEWAY = 60
#: Maximum age of an ID token in seconds, regardless of its own claims.
MAX_AGE = 86_400


def check_id_token(
    value: object, discovery: Discovery, audience: Collection[str], nonce: str | None
) -> TokenClaims:
    """Return the claims of an ID token for these clients; raise ProviderError.

    `nonce`: None accepts any.
    """
    if not isinstance(value, str) or len(value) > MAX_ID_TOKEN:
        raise ProviderError("the ID token is missing, no text, or too long")
    try:
        claims = _verify(value, discovery)
        _check_claims(claims, discovery.metadata().issuer)
    except (JoseError, *MALFORMED) as error:
        raise ProviderError(f"the ID token is not valid: {type(error).__name__}") from None
    _check_audience(claims, audience)
    if nonce is not None and claims.get("nonce") != nonce:
        raise ProviderError("the ID token has another nonce")
    return claims


def _verify(value: str, discovery: Discovery) -> TokenClaims:
    header = jws.extract_compact(value.encode()).headers()
    # Other types of tokens for this client: `at+jwt`, `logout+jwt` (RFC 8725, 3.11).
    if str(header.get("typ")).lower().endswith("+jwt"):
        raise ValueError("not an ID token")
    key_id = header.get("kid")
    keys = discovery.keys(key_id if isinstance(key_id, str) else None)
    return jwt.decode(value, keys, algorithms=ALGORITHMS).claims


def _check_claims(claims: TokenClaims, issuer: str) -> None:
    if TENANT in issuer:
        issuer = issuer.replace(TENANT, str(UUID(claims["tid"])))
    registry = jwt.JWTClaimsRegistry(
        leeway=LEEWAY,
        iss={"essential": True, "value": issuer},
        sub={"essential": True},
        aud={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    registry.validate(claims)
    # The claim of a logout token (OpenID Connect Back-Channel Logout, 2.4).
    if "events" in claims:
        raise ValueError("not an ID token")
    if claims["iat"] < registry.now - MAX_AGE:
        raise ValueError("the token is too old")


def _check_audience(claims: TokenClaims, audience: Collection[str]) -> None:
    """Accept tokens for these clients and for no others."""
    named = claims["aud"]
    named = [named] if isinstance(named, str) else named
    if not named or not set(named) <= set(audience):
        raise ProviderError("the ID token is for another client")
