"""Presets of known providers, and the passport modules that they replace."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The known modules of `providers.json`.
MODULES = {
    "passport-google-oauth": "google",
    "passport-google-oauth2": "google",
    "passport-google-oauth20": "google",
    "passport-google-openidconnect": "google",
    "passport-google-oidc": "google",
    "passport-github": "github",
    "passport-github2": "github",
    "passport-facebook": "facebook",
    "passport-microsoft": "microsoft",
    "passport-azure-ad-oauth2": "microsoft",
    "passport-apple": "apple",
    "passport-gitlab": "gitlab",
    "passport-gitlab2": "gitlab",
    "passport-openidconnect": "oidc",
    "passport-openid-connect": "oidc",
    "passport-auth0": "oidc",
    "passport-okta-oauth": "oidc",
    "passport-keycloak-oauth2-oidc": "oidc",
}


@dataclass(frozen=True)
class Preset:
    """A kind of provider."""

    label: str
    # OpenID Connect: the default URL of the discovery document. OAuth 2.0: the issuer stored with
    # identities.
    issuer: str | None
    scope: str
    # Default values of settings. For OAuth 2.0 they contain the endpoints, by passport's names; for
    # OpenID Connect, a discovery document does.
    defaults: Mapping[str, str] = field(default_factory=dict)
    # The key in OAUTH_PROFILES of `client` of the function that reads a profile; None for OpenID
    # Connect.
    profile: str | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        """The default settings of an entry."""
        issuer = {"issuer": self.issuer} if self.issuer else {}
        return {"label": self.label, **issuer, **self.defaults}

    @property
    def is_openid(self) -> bool:
        """Whether it issues ID tokens."""
        return self.profile is None


PRESETS = {
    "oidc": Preset("OpenID Connect", None, "openid email profile"),
    "google": Preset("Google", "https://accounts.google.com", "openid email profile"),
    "microsoft": Preset(
        "Microsoft",
        "https://login.microsoftonline.com/{tenant}/v2.0",
        "openid email profile",
        {"tenant": "common"},
    ),
    # Apple only answers by GET if neither email nor name is requested.
    "apple": Preset(
        "Apple", "https://appleid.apple.com", "openid email", {"callbackHTTPMethod": "post"}
    ),
    "gitlab": Preset("GitLab", "https://gitlab.com", "openid email profile"),
    "github": Preset(
        "GitHub",
        "https://github.com",
        "user:email",
        {
            "authorizationURL": "https://github.com/login/oauth/authorize",
            "tokenURL": "https://github.com/login/oauth/access_token",
            "userProfileURL": "https://api.github.com/user",
            "userEmailURL": "https://api.github.com/user/emails",
        },
        "github",
    ),
    "facebook": Preset(
        "Facebook",
        "https://www.facebook.com",
        "email",
        {
            "authorizationURL": "https://www.facebook.com/v21.0/dialog/oauth",
            "tokenURL": "https://graph.facebook.com/v21.0/oauth/access_token",
            "profileURL": "https://graph.facebook.com/v21.0/me",
        },
        "facebook",
    ),
}
