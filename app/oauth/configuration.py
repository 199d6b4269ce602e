"""The providers that the settings configure, in the form of LoopBack 3's `providers.json`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError

from app.config import ConfigurationError
from app.connector.settings.environment import substitute_environment
from app.problems import Problems, suggest
from app.settings import check_redirect_url

from .presets import MODULES, PRESETS, Preset
from .routes import ProviderRoute, find_routes, served_paths
from .schemas import ProviderSchema

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
# Hosts whose addresses may begin with http, for development.
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
URLS = ("issuer", "authorizationURL", "tokenURL", "userProfileURL", "userEmailURL", "profileURL")


@dataclass(frozen=True)
class Provider:
    """A configured provider."""

    # The key of its entry.
    name: str
    # What identities are stored with, for people.
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
    # None for an entry with an entry of its own to add identities.
    link: ProviderRoute | None
    # Whether the answer comes as a form in a POST.
    posts_answer: bool
    trust_email: bool
    realm: str
    # The client ids of ID tokens that apps may send.
    audience: frozenset[str]
    # The settings that are addresses, by passport's names.
    urls: Mapping[str, str]


@dataclass
class Configuration:
    """The configured providers, and warnings of settings that have no effect."""

    providers: list[Provider] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def configure(settings: Mapping[str, Any], served: Iterable[str] = ()) -> Configuration:
    """Return the configured providers; raise ConfigurationError with all problems.

    `served` are the paths that the service has already.
    """
    problems = Problems()
    configuration = Configuration()
    entries = substitute_environment(settings["PROVIDERS"], problems)
    loaded = dict(_load(entries, problems, configuration.warnings))
    linked = {entry["provider"] or name for name, entry in loaded.items() if entry["link"]}
    taken = dict.fromkeys(served, "the service")
    for name, entry in loaded.items():
        routes = find_routes(name, entry, linked)
        _note_problems(name, entry, settings, problems)
        _note_paths(name, served_paths(entry, *routes), taken, problems)
        if not problems.has_error(name):
            configuration.providers.append(_make(name, entry, *routes))
    configuration.warnings += _cookie_warnings(configuration.providers, settings)
    if problems.errors:
        said = "; ".join(f"{path} {text}" for path, text in problems.errors)
        raise ConfigurationError(f"PROVIDERS cannot be used: {said}")
    return configuration


def _load(
    entries: Mapping[str, Any], problems: Problems, warnings: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of known providers, checked one by one; note problems and warnings."""
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or not NAME.fullmatch(name):
            problems.add(name, "must be an object, and its name letters, digits, _ and -")
            continue
        if (kind := _kind(name, entry)) is None:
            if isinstance(entry.get("module"), str):
                warnings.append(f"{name} is not served: {_unknown_module(entry)}")
            else:
                problems.add(name, _unknown_name(name, entry))
            continue
        loaded = _load_entry(name, entry, problems)
        known = ProviderSchema().fields.keys() | IGNORED
        if unused := sorted(entry.keys() - known):
            warnings.append(f"{name} has settings that are not used: {', '.join(unused)}")
        yield name, {**loaded, "preset": PRESETS[kind], **_defaults(kind, loaded)}


def _load_entry(name: str, entry: Mapping[str, Any], problems: Problems) -> Mapping[str, Any]:
    """Return an entry with all keys that there are; note which of them are not valid, and None."""
    schema = ProviderSchema()
    loaded: dict[str, Any] = dict.fromkeys(schema.fields)
    try:
        loaded |= schema.load(entry)
    except ValidationError as error:
        loaded |= dict(error.valid_data or {})
        for key, texts in error.messages_dict.items():
            if not problems.has_error(f"{name}.{key}"):
                problems.add(f"{name}.{key}", _flatten(texts))
    return loaded


def _kind(name: str, entry: Mapping[str, Any]) -> str | None:
    """Return the name of the preset: of the module or issuer, else of the entry's own name."""
    module = entry.get("module")
    if "issuer" in entry:
        return MODULES.get(str(module), "oidc")
    if module is not None:
        return MODULES.get(str(module))
    return next((known for known in (entry.get("provider"), name) if known in PRESETS), None)


def _unknown_module(entry: Mapping[str, Any]) -> str:
    if entry.get("module") == "passport-local":
        return "passwords are checked by POST /users/login"
    known = ", ".join(sorted(MODULES))
    return f"its module is none of {known}, and it has no `issuer`"


def _unknown_name(name: str, entry: Mapping[str, Any]) -> str:
    known = sorted(PRESETS.keys() - {"oidc"})
    meant = suggest(str(entry.get("provider") or name), known)
    return f"must have a `module` or an `issuer`, or be {', '.join(known)}{meant}"


def _defaults(kind: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that an entry leaves to its preset."""
    preset = PRESETS[kind]
    defaults = {"issuer": preset.issuer, "label": preset.label, **preset.defaults}
    return {key: value for key, value in defaults.items() if entry.get(key) is None}


def _flatten(texts: Any) -> str:
    while isinstance(texts, dict):
        texts = next(iter(texts.values()))
    return str(texts[0])


def _note_problems(
    name: str, entry: Mapping[str, Any], settings: Mapping[str, Any], problems: Problems
) -> None:
    for key, problem in _problems(entry, settings):
        # What is not valid by itself seems to be missing.
        if not problems.has_error(f"{name}.{key}"):
            problems.add(f"{name}.{key}", problem)


def _problems(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an entry, by its key."""
    if not entry["clientID"]:
        yield "clientID", "is missing"
    # A client of OpenID Connect may be public.
    if not (entry["clientSecret"] or entry["preset"].is_openid):
        yield "clientSecret", "is missing"
    yield from _address_problems(entry)
    if entry["scope"] is not None and _scope(entry) is None:
        yield "scope", "must be a text, or a list of texts"
    for key in ("successRedirect", "failureRedirect"):
        if problem := _redirect_problem(entry[key], settings["REDIRECT_URLS"]):
            yield key, problem
    if (settings["REALM_REQUIRED"] or settings["REALM_DELIMITER"]) and not entry["realm"]:
        yield "realm", "is missing: users need one, as REALM_REQUIRED or REALM_DELIMITER says"


def _address_problems(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not entry["issuer"]:
        yield "issuer", "is missing: the address of the provider, such as https://id.example.com"
    for key in URLS:
        if entry[key] and not is_secure(entry[key]):
            yield key, "must be an https address (http on this machine), without query or fragment"


def is_secure(url: str) -> bool:
    """Tell whether secrets may be sent to a URL: by https, or to this machine."""
    try:
        parts = urlsplit(url)
        is_secure = parts.scheme == "https" or (
            parts.scheme == "http" and parts.hostname in LOCAL_HOSTS
        )
        plain = not (parts.query or parts.fragment or parts.username) and url.isascii()
        return is_secure and bool(parts.hostname) and plain and parts.port != 0
    except ValueError:
        return False


def _redirect_problem(value: str | None, listed: list[str]) -> str | None:
    if value is None or value in listed:
        return None
    try:
        check_redirect_url(value)
    except ValidationError as error:
        return str(error.messages[0])
    return None if value.startswith("/") else "must be a path, or one of REDIRECT_URLS"


def _scope(entry: Mapping[str, Any]) -> str | None:
    """Return the scope as a text, with `openid` where ID tokens are asked for; None if invalid."""
    given = entry["scope"] or entry["preset"].scope
    words = given.split() if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    if entry["preset"].is_openid and "openid" not in words:
        words = ["openid", *words]
    return " ".join(words)


def _make(
    name: str, entry: Mapping[str, Any], login: ProviderRoute | None, link: ProviderRoute | None
) -> Provider:
    issuer = entry["issuer"].replace("{tenant}", entry["tenant"] or "")
    return Provider(
        name=name,
        provider=entry["provider"] or name,
        label=entry["label"],
        preset=entry["preset"],
        issuer=issuer,
        client_id=entry["clientID"],
        client_secret=entry["clientSecret"],
        scope=_scope(entry) or "",
        login=login,
        link=link,
        posts_answer=entry["callbackHTTPMethod"] == "post",
        trust_email=entry["trustEmail"],
        realm=entry["realm"],
        audience=frozenset([entry["clientID"], *entry["audience"]]),
        urls={key: entry[key] for key in URLS if entry[key]},
    )


def _note_paths(name: str, paths: Iterable[str], taken: dict[str, str], problems: Problems) -> None:
    """Note paths that another route has; the others are taken from now on."""
    for path in paths:
        if path in taken:
            problems.add(name, f"has the path {path}, as {taken[path]} has")
        taken[path] = name


def _cookie_warnings(providers: list[Provider], settings: Mapping[str, Any]) -> Iterator[str]:
    for provider in providers:
        if provider.login and not provider.login.json and settings["TOKEN_MIDDLEWARE"] is None:
            yield (
                f"{provider.name}: a login in a browser sets no cookie without TOKEN_MIDDLEWARE;"
                ' set it, or "json": true'
            )
