"""OpenID Connect: a provider's metadata and keys, cached, and the checks of an ID token."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet, RSAKey, import_key

from app.errors import quote

from .configuration import Provider
from .errors import MALFORMED, ProviderError
from .http import Http
from .schemas import MAX_ID_TOKEN, is_secure

Document = TypeVar("Document")

#: Seconds for which metadata and keys are cached.
CACHE_SECONDS = 3600
#: Seconds before metadata and keys are requested again after a failure.
RETRY_INTERVAL = 10
#: Seconds between two requests for keys because of an unknown key id.
REFRESH_INTERVAL = 60
#: Maximum number of a provider's keys.
MAX_KEYS = 50
#: Minimum bits of a provider's RSA key (RFC 7518, 3.3).
MIN_RSA_BITS = 2048
DISCOVERY_PATH = "/.well-known/openid-configuration"
# Microsoft's placeholder for the tenant, used if users of several tenants may log in.
TENANT = "{tenantid}"
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


@dataclass(frozen=True)
class Metadata:
    """The metadata of a provider (OpenID Connect Discovery, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    # The client's authentication method at the token endpoint; None: client_secret_basic.
    auth_methods: list[str] | None
    # Whether its responses have `iss` (RFC 9207).
    sends_issuer: bool
    supports_pkce: bool


class Cached(Generic[Document]):
    """A document of a provider, fetched when needed; failures are cached, too."""

    def __init__(self, fetch: Callable[[], Document]) -> None:
        self._fetch = fetch
        self._fetched: tuple[float, Document] | None = None
        self._failed: tuple[float, str] | None = None

    def get(self, max_age: float = CACHE_SECONDS) -> Document:
        """Return the document, at most `seconds` old; raise ProviderError."""
        if self._fetched is None or _age(self._fetched[0]) > max_age:
            self._fetched = time.monotonic(), self._fetch_again()
        return self._fetched[1]

    def _fetch_again(self) -> Document:
        if self._failed is not None and _age(self._failed[0]) < RETRY_INTERVAL:
            raise ProviderError(self._failed[1])
        try:
            return self._fetch()
        except ProviderError as error:
            self._failed = time.monotonic(), str(error)
            raise


class Discovery:
    """The metadata and keys of one provider, cached by this process."""

    def __init__(self, provider: Provider, http: Http) -> None:
        url = provider.issuer.rstrip("/") + DISCOVERY_PATH
        self._metadata = Cached(lambda: _to_metadata(provider, http.get(url)))
        self._keys = Cached(lambda: _to_keys(http.get(self.metadata().jwks_uri)))

    def metadata(self) -> Metadata:
        """Return the metadata; raise ProviderError."""
        return self._metadata.get()

    def keys(self, key_id: str | None = None) -> KeySet:
        """Return the keys; fetch them again if none has this id; raise ProviderError."""
        keys = self._keys.get()
        is_known = key_id is None or any(key.kid == key_id for key in keys)
        return keys if is_known else self._keys.get(REFRESH_INTERVAL)


def _age(moment: float) -> float:
    return time.monotonic() - moment


def _to_metadata(provider: Provider, document: object) -> Metadata:
    """Return metadata with the issuer of the settings; raise ProviderError."""
    if not isinstance(document, dict):
        raise ProviderError("its metadata are not an object")
    issuer = document.get("issuer")
    if issuer != provider.issuer and not _is_any_tenant(provider, issuer):
        shown = ascii(quote(issuer))
        raise ProviderError(f"the issuer in its metadata is not the one of the settings: {shown}")
    methods = document.get("token_endpoint_auth_methods_supported")
    challenges = document.get("code_challenge_methods_supported")
    return Metadata(
        issuer=str(issuer),
        authorization_endpoint=_endpoint(document, "authorization_endpoint"),
        token_endpoint=_endpoint(document, "token_endpoint"),
        jwks_uri=_endpoint(document, "jwks_uri"),
        userinfo_endpoint=(
            _endpoint(document, "userinfo_endpoint") if "userinfo_endpoint" in document else None
        ),
        auth_methods=methods if isinstance(methods, list) else None,
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        supports_pkce=isinstance(challenges, list) and "S256" in challenges,
    )


def _is_any_tenant(provider: Provider, issuer: object) -> bool:
    """Return True if the issuer is Microsoft's for several tenants, as its metadata says."""
    base, _, rest = provider.issuer.rpartition("/v2.0")[0].rpartition("/")
    is_shared = rest in ("common", "organizations", "consumers")
    return is_shared and issuer == f"{base}/{TENANT}/v2.0"


def _endpoint(document: Mapping[str, object], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or not is_secure(url.partition("?")[0]):
        raise ProviderError(f"its metadata have no https address as {name}")
    return url


def _to_keys(document: object) -> KeySet:
    """Return the public keys for signatures; other keys and unknown types are ignored."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ProviderError("its keys are not a JSON Web Key Set")
    keys = [key for item in listed[:MAX_KEYS] if (key := _to_key(item))]
    if not keys:
        raise ProviderError("it has no key for signatures")
    return KeySet(keys)


def _to_key(document: object) -> Key | None:
    if not isinstance(document, dict) or document.get("use", "sig") != "sig":
        return None
    # With a symmetric key, anybody who can read it could sign.
    if document.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    try:
        key = import_key(document)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    is_weak = isinstance(key, RSAKey) and key.public_key.key_size < MIN_RSA_BITS
    return None if is_weak else key


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
