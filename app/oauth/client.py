"""The client of a provider: its login URLs, and the profiles of its users."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from flask import current_app

from .configuration import Provider, ProviderRoute
from .errors import ProviderError
from .http import Http
from .openid import Discovery, check_id_token
from .profiles import Profile, read_profile

FACEBOOK_FIELDS = "id,name,first_name,last_name,email"


class ProviderClient:
    """A configured provider, with its connections and metadata."""

    def __init__(self, provider: Provider, slots: int) -> None:
        self.provider = provider
        self.http = Http(provider, slots)
        self.discovery = Discovery(provider, self.http)

    def authorization_endpoint(self) -> str:
        """Return the provider's authorization endpoint; raise ProviderError."""
        if self.provider.preset.is_openid:
            return self.discovery.metadata().authorization_endpoint
        return self.provider.urls["authorizationURL"]

    def redirect_uri(self, route: ProviderRoute) -> str:
        """Return the redirect URI, below PUBLIC_URL."""
        return f"{current_app.config['PUBLIC_URL']}{route.callback_path}"

    def authorization_url(
        self, endpoint: str, route: ProviderRoute, state: str, nonce: str, verifier: str
    ) -> str:
        """Return the URL at the provider for this login."""
        provider = self.provider
        values = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": self.redirect_uri(route),
            "scope": provider.scope,
            "state": state,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        if provider.preset.is_openid:
            mode = "form_post" if provider.posts_answer else "query"
            values |= {"nonce": nonce, "response_mode": mode}
        parts = urlsplit(endpoint)
        query = urlencode([*parse_qsl(parts.query), *values.items()])
        return urlunsplit(parts._replace(query=query))

    def check_issuer(self, sent: str | None) -> None:
        """Check the parameter `iss` of a response (RFC 9207, section 2.4); raise ProviderError.

        Providers of OAuth 2.0 are distinguished by their callback paths (RFC 9700, 4.4.2.2).
        """
        if not self.provider.preset.is_openid:
            return
        metadata = self.discovery.metadata()
        if sent is None and metadata.sends_issuer:
            raise ProviderError("the answer has no issuer")
        if sent is not None and sent != metadata.issuer:
            raise ProviderError("the answer is of another issuer")

    def redeem(self, route: ProviderRoute, code: str, verifier: str, nonce: str) -> Profile:
        """Return the profile of the user for whom a code was issued; raise ProviderError."""
        uri = self.redirect_uri(route)
        if not self.provider.preset.is_openid:
            url = self.provider.urls["tokenURL"]
            answer = self.http.fetch_token(url, "client_secret_post", code, verifier, uri)
            return OAUTH_PROFILES[str(self.provider.preset.profile)](self, _access_token(answer))
        metadata, client_id = self.discovery.metadata(), self.provider.client_id
        method = self._auth_method(metadata.auth_methods)
        answer = self.http.fetch_token(metadata.token_endpoint, method, code, verifier, uri)
        claims = check_id_token(answer.get("id_token"), self.discovery, [client_id], nonce)
        # An app may get tokens that were issued to another app of the same service.
        if claims.get("azp") not in (None, client_id):
            raise ProviderError("the ID token was issued to another client")
        if "email" not in claims and metadata.userinfo_endpoint:
            userinfo = _object(self.http.get(metadata.userinfo_endpoint, _access_token(answer)))
            # It must be the same user (OpenID Connect Core, 5.3.2).
            if userinfo.get("sub") != claims["sub"]:
                raise ProviderError("the profile is that of another subject")
            claims = {**userinfo, **claims}
        return read_profile(claims["iss"], claims["sub"], claims)

    def check_id_token(self, id_token: str, nonce: str | None) -> Profile:
        """Return the profile of the user in an app's ID token; raise ProviderError."""
        claims = check_id_token(id_token, self.discovery, self.provider.audience, nonce)
        return read_profile(claims["iss"], claims["sub"], claims)

    def _auth_method(self, supported: list[str] | None) -> str:
        if self.provider.client_secret is None:
            return "none"
        is_basic = supported is None or "client_secret_basic" in supported
        return "client_secret_basic" if is_basic else "client_secret_post"

    def github_profile(self, token: str) -> Profile:
        """Return the profile of a GitHub user, with the primary address."""
        user = _object(self.http.get(self.provider.urls["userProfileURL"], token))
        if not isinstance(user.get("id"), int):
            raise ProviderError("the profile has no id")
        # GitHub does not answer without this permission.
        may_read = not {"user", "user:email"}.isdisjoint(self.provider.scope.split())
        url = self.provider.urls["userEmailURL"]
        primary = _primary(self.http.get(url, token)) if may_read else {}
        email = {"email": primary.get("email"), "email_verified": primary.get("verified") is True}
        claims = {**user, **email, "picture": user.get("avatar_url")}
        return read_profile(self.provider.issuer, str(user["id"]), claims)

    def facebook_profile(self, token: str) -> Profile:
        """Return the profile of a Facebook user; Facebook does not verify the address."""
        url = self.provider.urls["profileURL"]
        user = _object(self.http.get(url, token, {"fields": FACEBOOK_FIELDS}))
        names = {"given_name": user.get("first_name"), "family_name": user.get("last_name")}
        claims = {**user, **names, "email_verified": False}
        return read_profile(self.provider.issuer, user.get("id"), claims)


OAUTH_PROFILES: Mapping[str, Callable[[ProviderClient, str], Profile]] = {
    "github": ProviderClient.github_profile,
    "facebook": ProviderClient.facebook_profile,
}


def _access_token(answer: Mapping[str, object]) -> str:
    token = answer.get("access_token")
    if not isinstance(token, str) or not token.isprintable() or not token.isascii():
        raise ProviderError("it issued no access token")
    return token


def _object(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ProviderError("the profile is not an object")
    return document


def _primary(emails: object) -> dict[str, object]:
    """Return the primary one of GitHub's addresses; an empty object if there is none."""
    listed = emails if isinstance(emails, list) else []
    found = (item for item in listed if isinstance(item, dict) and item.get("primary") is True)
    return next(found, {})
