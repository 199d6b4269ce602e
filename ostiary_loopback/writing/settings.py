"""`config.py` of a project: the settings that an application's files correspond to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from marshmallow import ValidationError

from app.datasources.connectors import MAIL as CONNECTOR_OF_MAIL
from app.datasources.connectors import mail_urls
from app.definitions.bases import TOKEN as ACCESS_TOKEN
from app.definitions.bases import USER
from app.rest.shared_methods import ALIASES
from app.settings import SettingsSchema
from ostiary_loopback.application import Application, Model, as_mapping, connector_of
from ostiary_loopback.printing import printable

from .files import ProjectFile
from .paths import USERS, free_path, model_at_users
from .python import literal

SCHEMA = SettingsSchema()
# LoopBack 3's middleware for tokens, and for requests of other origins.
TOKEN, CORS = "loopback#token", "cors"
TOKEN_KEYS = ("cookies", "headers", "params", "currentUserLiteral")
EXPLORER = "loopback-component-explorer"
# The connectors whose databases generate ids that are not numbers, with the type of these ids.
ID_TYPES = {"mongodb": "objectid"}
# Settings that are the same for all applications.
USUAL = (
    ("SAMPLE_TODOS", False, "the sample model is none of the application's"),
    ("COMPATIBILITY", "loopback3", "clients were written for LoopBack 3"),
)
SIZE = re.compile(r"(\d+(?:\.\d+)?) *(b|kb|mb|gb)?", re.IGNORECASE)
UNITS = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
USUAL_SIZE = 102400
FIRST = '''"""Settings. Variables of the environment, such as APP_MAIL_URL, replace them.

`ostiary loopback import` wrote them, each with what says so in the LoopBack 3 application.
"""
'''
FIXTURES = """\
# True: `ostiary run` loads the folder fixtures after migrating. Read what is in it first.
FIXTURES = False
"""
MAIL = """\
# {place}: mails are files in the folder mail until the environment has the server:
# APP_MAIL_URL={url}
"""
# The value for a server that the application computes, or does not name.
ANY_MAIL_URL = "smtp://USER:PASSWORD@HOST:587?starttls=1"


class Setting(NamedTuple):
    """A setting, and its origin in the application."""

    name: str
    value: object
    reason: str


class Settings(NamedTuple):
    """The settings of a project, and notes on them."""

    settings: list[Setting]
    notes: list[str]


def read_settings(application: Application, redirects: Sequence[str]) -> Settings:
    """Return the settings of an application; `redirects` are the addresses of its providers."""
    notes: list[str] = []
    found = [Setting(*usual) for usual in USUAL]
    found += _open_by_default(application, notes)
    found += _root(application, notes)
    found += _users_path(application)
    found.append(_id_type(application))
    found += _limit(application)
    found += _shared_methods(application)
    found += _tokens(application, notes)
    found += _origins(application, notes)
    if EXPLORER not in application.components:
        found.append(Setting("EXPLORER_ENABLED", False, f"component-config.json has no {EXPLORER}"))
    if redirects:
        reason = "providers.json redirects to addresses of other sites"
        found.append(Setting("REDIRECT_URLS", list(redirects), reason))
    return Settings([setting for setting in found if _is_usable(setting, notes)], notes)


def config_file(application: Application, settings: Settings, service: str) -> ProjectFile:
    """Return `config.py`."""
    name = Setting("SERVICE_NAME", service, "the name of this folder")
    lines = [FIRST, *map(_line, [name, *settings.settings]), FIXTURES, *_mail(application)]
    return ProjectFile("config.py", "\n".join([lines[0], "".join(lines[1:])]))


def _line(setting: Setting) -> str:
    return f"# {printable(setting.reason)}\n{setting.name} = {literal(setting.value)}\n"


def _is_usable(setting: Setting, notes: list[str]) -> bool:
    """Return True if a setting can be used; else add a note."""
    try:
        SCHEMA.fields[setting.name].deserialize(setting.value)
    except ValidationError as error:
        notes.append(f"{setting.name} is not set, as {setting.reason}: {error.messages[0]}")
        return False
    return True


def _open_by_default(application: Application, notes: list[str]) -> Iterator[Setting]:
    if any(model.definition for model in application.models.values()):
        reason = "in LoopBack 3, a call that no rule is about is allowed to everybody"
        notes.append(f"DEFAULT_PERMISSION is allow: {reason}")
        yield Setting("DEFAULT_PERMISSION", "allow", reason)
        reason = "in LoopBack 3, the rules of the parent decide alone on calls of relations"
        notes.append(f"RELATION_PERMISSIONS is parent: {reason}")
        yield Setting("RELATION_PERMISSIONS", "parent", reason)


def _root(application: Application, notes: list[str]) -> Iterator[Setting]:
    root = application.config.get("restApiRoot")
    if root in ("", "/"):
        notes.append(
            "REST_API_ROOT stays /api, as config.json: restApiRoot is /, where pages are served:"
            " let a proxy in front of the service add /api to the paths of clients"
        )
    elif isinstance(root, str) and root.rstrip("/") != "/api":
        yield Setting("REST_API_ROOT", root.rstrip("/"), "config.json: restApiRoot")


def _users_path(application: Application) -> Iterator[Setting]:
    users, other = users_model(application), model_at_users(application)
    if other and (users is None or users.path.lower() == USERS):
        reason = f"LoopBack 3 serves the model {other.name} at /{other.path}, and no users there"
        yield Setting("USERS_PATH", free_path(application), reason)


def users_model(application: Application) -> Model | None:
    """Return the first model of users of an application: one that extends User, or User itself.

    Of several, it is the one that access tokens belong to; or else a public one whose plural is
    `users`, which no other model can have; or else the first public one that no other extends.
    """
    extending = users_models(application)
    names = {model.name: model for model in extending}
    bases = {model.base for model in extending}
    leaves = [model for model in extending if model.name not in bases]
    public = [model for model in leaves if model.is_public]
    named = [model for model in extending if model.is_public and model.plural.lower() == USERS]
    owner = names.get(owner_of_tokens(application))
    return owner or next(iter(named or public or leaves or extending), application.models.get(USER))


def users_models(application: Application) -> list[Model]:
    """Return the models that extend User, those with rows first."""
    extending = list(filter(application.is_user, application.models.values()))
    return sorted(extending, key=lambda model: not model.data_source)


def owner_of_tokens(application: Application) -> str:
    """Return the model that the relation `user` of access tokens names; empty if it names none."""
    for model in application.models.values():
        if ACCESS_TOKEN in application.bases(model.name):
            for relations in (model.config.get("relations"), model.mapping("relations")):
                named = as_mapping(as_mapping(relations).get("user")).get("model")
                if isinstance(named, str):
                    return named
    return ""


def id_type(application: Application, model: Model | None) -> str:
    """Return the type of the ids that a model's database generates, as a value of ID_TYPE."""
    given = ID_TYPES.get(application.connector(model), "integer")
    for declared in model.mapping("properties").values() if model else []:
        if isinstance(declared, Mapping) and declared.get("id"):
            if declared.get("defaultFn") in ("guid", "uuid", "uuidv4"):
                return "uuid"
            if str(declared.get("type")).lower() == "number":
                return "integer"
    return given


def _id_type(application: Application) -> Setting:
    users = users_model(application)
    name, source = (users.name, users.data_source) if users else (USER, None)
    by = application.connector(users) or "no database"
    reason = f"{name} is in the data source {source}, which is {by}"
    return Setting("ID_TYPE", id_type(application, users), reason)


def _limit(application: Application) -> Iterator[Setting]:
    limit = _at(application.config, "remoting", "json", "limit")
    size = _bytes(limit)
    if size and size > USUAL_SIZE:
        yield Setting("MAX_BODY_BYTES", size, f"config.json: remoting.json.limit is {limit}")


def _bytes(limit: object) -> int | None:
    if isinstance(limit, int):
        return limit
    matched = SIZE.fullmatch(limit.strip()) if isinstance(limit, str) else None
    return int(float(matched[1]) * UNITS[(matched[2] or "").lower()]) if matched else None


def _shared_methods(application: Application) -> Iterator[Setting]:
    shared = _at(application.config, "remoting", "sharedMethods")
    switches = {
        ALIASES.get(name, name): value
        for name, value in (shared.items() if isinstance(shared, Mapping) else [])
        if isinstance(value, bool)
    }
    if switches:
        yield Setting("SHARED_METHODS", switches, "config.json: remoting.sharedMethods")


def _tokens(application: Application, notes: list[str]) -> Iterator[Setting]:
    declared = _middleware(application, TOKEN) or {}
    given = as_mapping(declared.get("params"))
    entries = {name: given[name] for name in TOKEN_KEYS if given.get(name)}
    if entries:
        notes.append("TOKEN_MIDDLEWARE is set: unlike in LoopBack 3, a login sets a cookie")
        yield Setting("TOKEN_MIDDLEWARE", entries, f"middleware.json: {TOKEN}")


def _origins(application: Application, notes: list[str]) -> Iterator[Setting]:
    params = _cors(application)
    if params is None:
        return
    origin = params.get("origin", True)
    if isinstance(origin, str | list):
        origins = [origin] if isinstance(origin, str) else origin
        yield Setting("CORS_ORIGINS", [_origin(each) for each in origins], "the middleware cors")
    elif origin is True and not list(_tokens(application, [])):
        notes.append("CORS_ORIGINS is *: pages of all sites may call the API, as they may now")
        yield Setting("CORS_ORIGINS", ["*"], "the middleware cors allows every origin")
    elif origin is True:
        notes.append(
            "CORS_ORIGINS is not set: with cookies it has to name each site whose pages may call"
            " the API; the middleware cors allows every one"
        )


def _cors(application: Application) -> Mapping[str, Any] | None:
    """Return the parameters of the middleware, or of LoopBack 2's `remoting.cors`."""
    declared = _middleware(application, CORS)
    params = declared.get("params", {}) if declared is not None else None
    old = _at(application.config, "remoting", "cors")
    found = old if params is None else params
    return found if isinstance(found, Mapping) else None


def _origin(given: object) -> object:
    return given.rstrip("/") if isinstance(given, str) else given


def _middleware(application: Application, name: str) -> Mapping[str, Any] | None:
    """Return the settings of a middleware in an application; None if it is not used."""
    for phase in application.middleware.values():
        declared = phase.get(name) if isinstance(phase, Mapping) else None
        if isinstance(declared, Mapping) and declared.get("enabled") is not False:
            return declared
    return None


def _mail(application: Application) -> Iterator[str]:
    """Yield the settings of the mail server, without its password."""
    for name, source in application.data_sources.items():
        if connector_of(source) == CONNECTOR_OF_MAIL:
            for url in list(mail_urls(source)) or [ANY_MAIL_URL]:
                yield MAIL.format(place=printable(f"datasources.json: {name}"), url=printable(url))


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
