"""The configured providers, in the form of LoopBack 3's `providers.json`, and their routes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import ValidationError

from app.connector.settings.loading import substitute_environment
from app.problems import ConfigurationError, Problems, suggest
from app.settings import Settings, check_redirect_url

from .presets import MODULES, PRESETS, Preset
from .schemas import URLS, ProviderSettingsSchema

# A provider's settings, by LoopBack 3's names.
ProviderEntry = Mapping[str, Any]

# LoopBack 3's default of `successRedirect`.
LOGIN_SUCCESS, LINK_SUCCESS = "/auth/account", "/link/account"
# Keys of `providers.json` that need no equivalent here.
IGNORED = {
    "authOptions",
    "authScheme",
    "authType",
    "autoLogin",
    "callbackURL",
    "emailOptional",
    "failureFlash",
    "profileFields",
    "session",
    "setAccessToken",
    "strategy",
    "successFlash",
    "successReturnToOrRedirect",
    "userInfoURL",
}
NAME = re.compile(r"[\w-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class ProviderRoute:
    """The paths of a login or of adding an identity, and the redirects when it is finished."""

    path: str
    callback_path: str
    success_redirect: str
    # None: a failure is answered as an error.
    failure_redirect: str | None
    # Whether the failure redirect has the error's code in its query.
    names_error: bool
    # Whether the response is JSON, without redirect and cookies.
    json: bool

    @property
    def token_path(self) -> str:
        """The path at which apps log in with an ID token of an OpenID Connect provider."""
        return f"{self.path}/token"


def find_routes(
    name: str, entry: ProviderEntry, linked: set[str]
) -> tuple[ProviderRoute | None, ProviderRoute | None]:
    """Return an entry's routes: one for logins, and one for adding identities."""
    provider = entry["provider"] or name
    login = None if entry["link"] else _login_route(name, entry)
    links_itself = entry["link"] or provider not in linked
    return login, _link_route(provider, entry) if links_itself else None


def served_paths(
    entry: ProviderEntry, login: ProviderRoute | None, link: ProviderRoute | None
) -> Iterator[str]:
    """Yield the paths at which an entry is served."""
    for route in filter(None, (login, link)):
        yield route.path
        yield route.callback_path.rstrip("/")
    if login and entry["preset"].is_openid:
        yield login.token_path


def _login_route(name: str, entry: ProviderEntry) -> ProviderRoute:
    path = entry["authPath"] or f"/auth/{name}"
    return _route(path, entry["callbackPath"], LOGIN_SUCCESS, entry)


def _link_route(provider: str, entry: ProviderEntry) -> ProviderRoute:
    """Return the route for adding identities; an entry with `link` sets its paths."""
    path, callback = f"/link/{provider}", entry["linkCallbackPath"]
    if not entry["link"]:
        return _route(path, callback, LINK_SUCCESS, {**entry, "json": False})
    callback = entry["callbackPath"] or callback
    return _route(entry["authPath"] or path, callback, LINK_SUCCESS, entry)


def _route(path: str, callback: str | None, success: str, entry: ProviderEntry) -> ProviderRoute:
    # Unlike the callback path, it need not be registered exactly at any provider.
    path = path.rstrip("/")
    return ProviderRoute(
        path,
        callback or f"{path}/callback",
        entry["successRedirect"] or success,
        entry["failureRedirect"],
        entry["failureQueryString"],
        entry["json"],
    )


@dataclass(frozen=True)
class Provider:
    """A configured provider."""

    # The key of its entry.
    name: str
    # The name shown with identities.
    provider: str
    label: str
    preset: Preset
    # Without a placeholder for a tenant.
    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    scope: str
    # None for an entry with `link`.
    login: ProviderRoute | None
    # None if another entry is for adding identities.
    link: ProviderRoute | None
    # Whether the response is a form in a POST.
    posts_answer: bool
    trust_email: bool
    realm: str
    # The values of `amr` and `acr` that mean that the provider required several factors.
    strong_amr: frozenset[str]
    strong_acr: frozenset[str]
    # The client ids in ID tokens that apps may send.
    audience: frozenset[str]
    # The settings that are URLs, by passport's names.
    urls: Mapping[str, str]


@dataclass
class Configuration:
    """The configured providers, and warnings about settings without effect."""

    providers: list[Provider] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def configure(settings: Settings, served: Iterable[str] = ()) -> Configuration:
    """Return the configured providers; raise ConfigurationError with all problems.

    `served` are the paths that are already in use.
    """
    problems = Problems()
    configuration = Configuration()
    entries = substitute_environment(settings["PROVIDERS"], problems)
    loaded = dict(_load(entries, problems, configuration.warnings))
    linked = {entry["provider"] or name for name, entry in loaded.items() if entry["link"]}
    taken = dict.fromkeys(served, "the service")
    for name, entry in loaded.items():
        routes = find_routes(name, entry, linked)
        _check_entry(name, entry, settings, problems)
        _note_paths(name, served_paths(entry, *routes), taken, problems)
        if not problems.has_error(name):
            configuration.providers.append(_make(name, entry, *routes))
    configuration.warnings += _cookie_warnings(configuration.providers, settings)
    if problems.errors:
        said = "; ".join(f"{path} {text}" for path, text in problems.errors)
        raise ConfigurationError(f"PROVIDERS cannot be used: {said}")
    return configuration


def _load(
    entries: ProviderEntry, problems: Problems, warnings: list[str]
) -> Iterator[tuple[str, ProviderEntry]]:
    """Yield the entries of known providers; collect problems and warnings."""
    known = ProviderSettingsSchema().fields.keys() | IGNORED
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or not NAME.fullmatch(name):
            problems.add(name, "must be an object, and its name letters, digits, _ and -")
        elif preset := _find_preset(name, entry):
            if unused := sorted(entry.keys() - known):
                warnings.append(f"{name} has settings that are not used: {', '.join(unused)}")
            yield name, _load_entry(name, preset, entry, problems)
        elif isinstance(entry.get("module"), str):
            warnings.append(f"{name} is not served: {_unknown_module(entry)}")
        else:
            problems.add(name, _unknown_name(name, entry))


def _load_entry(
    name: str, preset: Preset, entry: ProviderEntry, problems: Problems
) -> ProviderEntry:
    """Return an entry with all known keys; invalid values are reported and None.

    Settings that are null count as missing.
    """
    schema = ProviderSettingsSchema()
    loaded = dict.fromkeys(schema.fields) | {"preset": preset}
    given = {key: value for key, value in entry.items() if value is not None}
    try:
        loaded |= schema.load({**preset.settings, **given})
    except ValidationError as error:
        loaded |= dict(error.valid_data or {})
        for key, texts in error.messages_dict.items():
            _note(problems, f"{name}.{key}", _flatten(texts))
    return loaded


def _note(problems: Problems, path: str, problem: str) -> None:
    # Not twice: an invalid value is loaded as if it were missing.
    if not problems.has_error(path):
        problems.add(path, problem)


def _find_preset(name: str, entry: ProviderEntry) -> Preset | None:
    """Return the preset of the module or issuer, else of the entry's name."""
    module = entry.get("module")
    if "issuer" in entry:
        return PRESETS[MODULES.get(str(module), "oidc")]
    names = (entry.get("provider"), name) if module is None else (MODULES.get(str(module)),)
    return next((PRESETS[known] for known in names if known in PRESETS), None)


def _unknown_module(entry: ProviderEntry) -> str:
    if entry.get("module") == "passport-local":
        return "passwords are checked by POST /users/login"
    known = ", ".join(sorted(MODULES))
    return f"its module is none of {known}, and it has no `issuer`"


def _unknown_name(name: str, entry: ProviderEntry) -> str:
    known = sorted(PRESETS.keys() - {"oidc"})
    meant = suggest(str(entry.get("provider") or name), known)
    return f"must have a `module` or an `issuer`, or be {', '.join(known)}{meant}"


def _flatten(texts: Any) -> str:
    while isinstance(texts, dict):
        texts = next(iter(texts.values()))
    return str(texts[0])


def _check_entry(name: str, entry: ProviderEntry, settings: Settings, problems: Problems) -> None:
    """Report problems of an entry with valid values."""
    # A client of OpenID Connect may be public.
    if not (entry["clientSecret"] or entry["preset"].is_openid):
        _note(problems, f"{name}.clientSecret", "is missing")
    for key in ("successRedirect", "failureRedirect"):
        if problem := _redirect_problem(entry[key], settings["REDIRECT_URLS"]):
            _note(problems, f"{name}.{key}", problem)
    if (settings["REALM_REQUIRED"] or settings["REALM_DELIMITER"]) and not entry["realm"]:
        needed = "is missing: users need one, as REALM_REQUIRED or REALM_DELIMITER says"
        _note(problems, f"{name}.realm", needed)


def _redirect_problem(value: str | None, listed: list[str]) -> str | None:
    if value is None or value in listed:
        return None
    try:
        check_redirect_url(value)
    except ValidationError as error:
        return str(error.messages[0])
    return None if value.startswith("/") else "must be a path, or one of REDIRECT_URLS"


def _make(
    name: str, entry: ProviderEntry, login: ProviderRoute | None, link: ProviderRoute | None
) -> Provider:
    preset = entry["preset"]
    words = entry["scope"] or preset.scope.split()
    return Provider(
        name=name,
        provider=entry["provider"] or name,
        label=entry["label"],
        preset=preset,
        issuer=entry["issuer"].replace("{tenant}", entry["tenant"] or ""),
        client_id=entry["clientID"],
        client_secret=entry["clientSecret"],
        scope=" ".join(words if "openid" in words or not preset.is_openid else ["openid", *words]),
        login=login,
        link=link,
        posts_answer=entry["callbackHTTPMethod"] == "post",
        trust_email=entry["trustEmail"],
        realm=entry["realm"],
        strong_amr=frozenset(entry["strongAmr"]),
        strong_acr=frozenset(entry["strongAcr"]),
        audience=frozenset([entry["clientID"], *entry["audience"]]),
        urls={key: entry[key] for key in URLS if entry[key]},
    )


def _note_paths(name: str, paths: Iterable[str], taken: dict[str, str], problems: Problems) -> None:
    """Report paths that another route has; reserve the others."""
    for path in paths:
        if path in taken:
            problems.add(name, f"has the path {path}, as {taken[path]} has")
        taken[path] = name


def _cookie_warnings(providers: list[Provider], settings: Settings) -> Iterator[str]:
    for provider in providers:
        if provider.login and not provider.login.json and settings["TOKEN_MIDDLEWARE"] is None:
            yield (
                f"{provider.name}: a login in a browser sets no cookie without TOKEN_MIDDLEWARE;"
                ' set it, or "json": true'
            )
