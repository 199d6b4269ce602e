"""A LoopBack application, read from its folder; none of its code is executed."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.datasources.connectors import connector_name
from app.definitions.bases import PERSISTED, SHADOWED, TOKEN, USER
from app.plurals import pluralize
from app.problems import ConfigurationError, Problems

from .settings_files import Files, other_environments, read_settings

CONFIG = "model-config.json"
# The environment of LoopBack's boot if NODE_ENV is not set.
DEVELOPMENT = "development"
# The settings of an application, each with files for single environments.
SETTINGS = ("config", "datasources", "model-config", "component-config", "middleware")
#: Maximum number of scripts that are read of an application.
MAX_SCRIPTS = 5000
#: Maximum number of model files that are read of a folder.
MAX_MODELS = 2000
#: Maximum depth of folders below DIR in which an application is searched.
MAX_DEPTH = 4
# Folders that contain no code of the server.
SKIPPED = {
    *("node_modules", "bower_components", "client", "public", "www", "dist", "build", "coverage"),
    *("test", "tests", "vendor", "static", "platforms", "plugins", "e2e", "frontend"),
}
SCRIPTS = (".js", ".mjs", ".cjs", ".es6")
# Suffixes of scripts that LoopBack runs with a plug-in or after compilation; they are not read.
OTHER_SCRIPTS = (".coffee", ".ts", ".litcoffee", ".ls")
# The folder of LoopBack's own models and mixins.
OWN_PACKAGE = "loopback/"


@dataclass(frozen=True)
class Model:
    """A model of the application, or one of LoopBack's own that model-config.json lists."""

    name: str
    # The content of common/models/<file>.json; {} for a model of LoopBack's own.
    definition: Mapping[str, Any]
    # Its entry in model-config.json.
    config: Mapping[str, Any]
    file: Path | None
    # The script beside the JSON; it is not read if it is in another language than JavaScript.
    script: Path | None
    # False for a base model that model-config.json does not list.
    is_configured: bool = True

    @property
    def options(self) -> Mapping[str, Any]:
        """The options, which may be in the object `options`."""
        return {**self.definition, **as_mapping(self.definition.get("options"))}

    @property
    def base(self) -> str:
        """The name of the model that it extends; PersistedModel for LoopBack's own models, too."""
        base = self.options.get("base")
        if isinstance(base, str) and base:
            return base
        return "Model" if self.definition and not self.data_source else "PersistedModel"

    @property
    def is_copy(self) -> bool:
        """Whether its file is a copy of that of a model of LoopBack's own, such as User."""
        return bool(self.definition) and self.name in SHADOWED and self.base in PERSISTED

    @property
    def data_source(self) -> str | None:
        """The name of its data source."""
        name = self.config.get("dataSource")
        return name if isinstance(name, str) and name else None

    @property
    def is_public(self) -> bool:
        """Whether LoopBack serves it."""
        return self.is_configured and self.config.get("public") is not False

    @property
    def plural(self) -> str:
        """The plural of its name."""
        plural = self.options.get("plural")
        return plural if isinstance(plural, str) and plural else pluralize(self.name)

    @property
    def path(self) -> str:
        """The path below the root of the API, without a leading slash."""
        path = as_mapping(self.options.get("http")).get("path")
        return (path if isinstance(path, str) and path else self.plural).strip("/")

    @property
    def acls(self) -> Sequence[Mapping[str, Any]]:
        """The rules: those of the definition, then those of model-config.json."""
        found = [*_items(self.options.get("acls")), *_items(self.config.get("acls"))]
        return [rule for rule in found if isinstance(rule, dict)]

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return an object of the definition, such as `properties`, merged with the entry's."""
        return {**as_mapping(self.definition.get(key)), **as_mapping(self.config.get(key))}


@dataclass(frozen=True)
class Application:
    """An application, as its folder defines it."""

    # The folder with model-config.json.
    folder: Path
    # The folder to which the paths in reports are relative.
    root: Path
    environment: str
    # The models that LoopBack builds: those that model-config.json lists, and their bases.
    models: Mapping[str, Model]
    # Models that have a file but are not in model-config.json; LoopBack ignores them.
    unlisted: Mapping[str, Model]
    data_sources: Mapping[str, Mapping[str, Any]]
    config: Mapping[str, Any]
    components: Mapping[str, Any]
    providers: Mapping[str, Any]
    middleware: Mapping[str, Any]
    boot_scripts: Sequence[Path]
    # All scripts of the server, including those of models and boot.
    scripts: Sequence[Path]
    # Scripts in other languages than JavaScript.
    unread: Sequence[Path]
    # The files with settings of other environments.
    other_environments: Sequence[Path]
    problems: Problems = field(default_factory=Problems)

    def bases(self, name: str) -> list[str]:
        """Return the name of a model and those of the models that it extends, in their order."""
        chain = [name]
        while (model := self.models.get(chain[-1])) and model.definition:
            if model.base in chain or model.is_copy:
                break
            chain.append(model.base)
        return chain

    def is_user(self, model: Model) -> bool:
        """Return True if a model extends User."""
        return self.bases(model.name)[1:][-1:] == [USER]

    @property
    def has_typed_tokens(self) -> bool:
        """Whether access tokens have a `principalType`, by a polymorphic relation to users."""
        return any(
            as_mapping(as_mapping(relations).get(name)).get("polymorphic")
            for model in self.models.values()
            for name in (
                *(["user"] if TOKEN in self.bases(model.name) else ()),
                *(["accessTokens"] if USER in self.bases(model.name) else ()),
            )
            for relations in (model.config.get("relations"), model.definition.get("relations"))
        )

    def connector(self, model: Model | None) -> str:
        """Return the connector of a model's data source; empty if it has none."""
        name = model.data_source if model else None
        return connector_of(self.data_sources.get(name or "", {}))

    def place(self, path: Path, line: int | None = None) -> str:
        """Return the path of a file, relative to the root, and a line: `server/server.js:12`."""
        return Files(self.root).place(path, line)


def connector_of(source: Mapping[str, Any]) -> str:
    """Return the name of a data source's connector; empty if it has none."""
    name = source.get("connector")
    return connector_name(name) if isinstance(name, str) else ""


def read_application(folder: Path, environment: str = DEVELOPMENT) -> Application:
    """Read the folder of an application, or its `server/`.

    `environment` is the NODE_ENV for which files are merged. Files that cannot be read are
    added to the application's problems. Raises ConfigurationError if the folder has no application.
    """
    server = find_server(folder)
    files = Files(find_root(server))
    settings = {name: read_settings(files, server, name, environment) for name in SETTINGS}
    entries = settings["model-config"]
    meta = as_mapping(entries.pop("_meta", None))
    sources = _folders(files, server, meta.get("sources", ["./models"]))
    mixins = _folders(files, server, meta.get("mixins", ["./mixins"]))
    found = _read_models(files, sources, entries)
    models = _built(found, entries)
    boot = _scripts_in([server / "boot", server / "boot" / environment])
    places = [server, files.root / "common", *sources, *mixins]
    scripts, unread = _all_scripts(files, places)
    return Application(
        folder=server,
        root=files.root,
        environment=environment,
        models=models,
        unlisted={name: model for name, model in found.items() if name not in models},
        data_sources=_objects(files, server / "datasources.json", settings["datasources"]),
        config=settings["config"],
        components=settings["component-config"],
        providers=_read_providers(files, server),
        middleware=settings["middleware"],
        boot_scripts=boot,
        scripts=scripts,
        unread=unread,
        other_environments=[
            path for name in SETTINGS for path in other_environments(server, name, environment)
        ],
        problems=files.problems,
    )


def find_server(folder: Path) -> Path:
    """Return the folder with model-config.json: the folder, or its `server/`.

    Raises ConfigurationError if there is none, with the subfolders that have an application.
    """
    for candidate in (folder / "server", folder):
        if (candidate / CONFIG).is_file():
            return candidate
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is no folder")
    others = [_application_of(path) for path in _with_config(folder, MAX_DEPTH)]
    hint = f"; there is one in {' and in '.join(dict.fromkeys(map(str, others)))}" if others else ""
    raise ConfigurationError(
        f"{folder} is no LoopBack application, as neither it nor server/ in it has {CONFIG}{hint}"
    )


def find_root(server: Path) -> Path:
    """Return the parent folder of `server/`, or the folder itself if it has another name."""
    server = server.resolve()
    has_common = (server.parent / "common" / "models").is_dir()
    return server.parent if server.name == "server" or has_common else server


def _application_of(server: Path) -> Path:
    return server.parent if server.name == "server" else server


def _with_config(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the subfolders that contain model-config.json."""
    for path in _subfolders(folder):
        if (path / CONFIG).is_file():
            yield path
        elif depth > 1:
            yield from _with_config(path, depth - 1)


def _subfolders(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        path
        for path in found
        if path.name != "node_modules"
        and not path.name.startswith(".")
        and path.is_dir()
        and not path.is_symlink()
    ]


def _folders(files: Files, server: Path, sources: object) -> list[Path]:
    """Return the folders that `_meta` of model-config.json names, if they are inside the root."""
    found = []
    for source in _items(sources):
        if not isinstance(source, str) or "\0" in source or source.startswith(OWN_PACKAGE):
            continue
        path = (server / source).resolve()
        if not path.is_relative_to(files.root.resolve()):
            files.problems.add(
                files.place(server / CONFIG),
                f"{source} is not read: it is outside {files.root.name}",
            )
        elif path.is_dir():
            found.append(path)
        elif not source.startswith("."):
            files.problems.warn(
                files.place(server / CONFIG), f"{source} is not read: it is in a package"
            )
    return found


def _read_models(
    files: Files, sources: Iterable[Path], entries: Mapping[str, Any]
) -> dict[str, Model]:
    """Return the models that have a file; for a repeated name, the one of the last folder."""
    found: dict[str, Model] = {}
    for source in sources:
        paths = sorted(source.glob("*.json"))
        if len(paths) > MAX_MODELS:
            files.problems.add(files.place(source), f"only {MAX_MODELS} of its files are read")
        for path in paths[:MAX_MODELS]:
            if path.name.startswith("_") or path.name == CONFIG:
                continue
            definition = files.read_json(path)
            name = definition.get("name") if definition else None
            if definition and isinstance(name, str) and name:
                entry = as_mapping(entries.get(name))
                script = _beside(path)
                found[name] = Model(name, definition, entry, path, script, name in entries)
    return found


def _beside(path: Path) -> Path | None:
    """Return the script beside a model's JSON."""
    for suffix in (*SCRIPTS, *OTHER_SCRIPTS):
        script = path.with_suffix(suffix)
        if script.is_file():
            return script
    return None


def _built(found: Mapping[str, Model], entries: Mapping[str, Any]) -> dict[str, Model]:
    """Return the models that model-config.json lists, and those of their bases with a file."""
    models: dict[str, Model] = {}
    waiting = list(entries)
    while waiting:
        name = waiting.pop(0)
        if name in models:
            continue
        model = found.get(name) or Model(name, {}, as_mapping(entries.get(name)), None, None)
        models[name] = model
        if model.base in found:
            waiting.append(model.base)
    return models


def _objects(files: Files, path: Path, values: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    for name, value in values.items():
        if not isinstance(value, dict):
            files.problems.add(f"{files.place(path)}: {name}", "must be an object")
    return {name: value for name, value in values.items() if isinstance(value, dict)}


def _read_providers(files: Files, server: Path) -> Mapping[str, Any]:
    """Return `providers.json` of loopback-component-passport, in the server's folder or above."""
    for folder in dict.fromkeys((server, files.root)):
        if (path := folder / "providers.json").is_file():
            return files.read_json(path) or {}
    return {}


def _scripts_in(folders: Iterable[Path]) -> list[Path]:
    """Return the scripts that LoopBack's boot runs, in the order in which it runs them."""
    return [
        path
        for folder in folders
        if folder.is_dir()
        for path in sorted(folder.iterdir(), key=lambda path: path.name.lower())
        if path.suffix in SCRIPTS and path.name != "index.js" and not path.name.startswith("_")
        if path.is_file()
    ]


def _all_scripts(files: Files, places: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the scripts below some folders, and those in other languages."""
    scripts: dict[Path, None] = {}
    unread: dict[Path, None] = {}
    inside = [place for place in places if files.has(place)]
    for place in places:
        if place not in inside:
            files.problems.add(files.place(place), f"is not read: it is outside {files.root.name}")
    for path in _walk(inside):
        if path.suffix in SCRIPTS and not path.name.endswith(".min.js"):
            scripts[path.resolve()] = None
        elif path.suffix in OTHER_SCRIPTS and not path.name.endswith(".d.ts"):
            unread[path.resolve()] = None
        if len(scripts) + len(unread) >= MAX_SCRIPTS:
            files.problems.add(files.place(path), f"is not read, as {MAX_SCRIPTS} scripts were")
            break
    return list(scripts), list(unread)


def _walk(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        # Links are not followed.
        for folder, names, file_names in os.walk(place):
            names[:] = sorted(
                name for name in names if name not in SKIPPED and not name.startswith(".")
            )
            for name in sorted(file_names):
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield path


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
