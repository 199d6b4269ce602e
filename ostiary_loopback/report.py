"""The report of `inspect`: what moves, with or without a difference, and what must be written."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.definitions.bases import PERSISTED, USER, WITHOUT_ROWS

from .application import Application, connector_of
from .javascript import Finding, Kind
from .javascript.finding import RemoteMethod, Validation
from .literals import Expression
from .models_check import SERVED, ModelCheck, check_models

MODEL_COLUMNS = (
    *("Model", "Extends", "Data source", "Path", "Properties", "Relations", "Rules", "Moves"),
)
# LoopBack's own models that have built-in rules; others are public if they have no `acls`.
WITH_RULES = ("User", "AccessToken")
# The verdicts on models for which nothing must be written.
BY_ITSELF, OTHERWISE, OWN_ENDPOINTS = "by itself", "with a difference", "its own endpoints"
# The providers of files that are supported, and the connectors whose rows `import` reads.
PROVIDERS = ("filesystem", "amazon")
DATABASES = ("memory", "mongodb", "mysql", "postgresql", "sqlite3")

# The replacement to write for each kind of finding.
TO_WRITE = {
    Kind.REMOTE_METHOD: "an endpoint of the model",
    Kind.OPERATION_HOOK: "a hook of the model",
    Kind.REMOTE_HOOK: "a hook, or code of an endpoint",
    Kind.ROLE_RESOLVER: "a dynamic role",
    Kind.OVERRIDE: "a hook, or an endpoint of the model's own",
    Kind.ROUTE: "an endpoint of the project",
    Kind.MIDDLEWARE: "a setting, or code of the project",
    Kind.CREATION: "a fixture",
    Kind.RELATION: "a relation in the model's file",
    Kind.PROPERTY: "a property in the model's file",
    Kind.SETTING: "a key of the model's file",
    Kind.MIXIN: "properties or hooks of the model",
    Kind.CONNECTOR: "code of the project",
    Kind.STORAGE: "code of the project",
    Kind.MAIL: "code of the project",
    Kind.PUSH: "code of the project",
    Kind.CRON: "a job outside the service, such as a command run by cron",
    Kind.CHANGE_STREAM: "`changes` in the model's file, by which clients follow its rows",
    Kind.FUNCTION: "code of the project, if an endpoint or hook uses it",
}
# The kinds of findings that move as something else.
MOVES_OTHERWISE = {
    Kind.DISABLED_METHOD: "switched off by `disableRemoteMethodByName` of the model's file",
    Kind.VALIDATION: "`required`, `validates` or `unique` of a property, or a hook of the model",
    Kind.SCHEMA_CHANGE: "migrations: `ostiary db migrate` and `ostiary db upgrade`",
}
# The plurals of names of kinds that are not formed with `s`.
PLURALS = {
    Kind.PROPERTY: "properties",
    Kind.MIDDLEWARE: "middleware",
    Kind.STORAGE: "calls of storage",
    Kind.MAIL: "sent mails",
    Kind.PUSH: "push notifications",
    Kind.CRON: "scheduled jobs",
}


@dataclass(frozen=True)
class Table:
    """Rows with a title; each cell is a text or a number."""

    title: str
    sentence: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int]]


@dataclass(frozen=True)
class Report:
    """The report of an application."""

    title: str
    # The most important sentences, which are printed first.
    first: Sequence[str]
    tables: Sequence[Table]
    # The whole report as JSON.
    data: Mapping[str, Any]


def make_report(application: Application, found: Sequence[Finding]) -> Report:
    """Return the report of an application and of the findings in its JavaScript."""
    checks = check_models(application)
    opened = _open_models(application, checks)
    unlocked = not any(finding.kind == Kind.AUTHENTICATION for finding in found)
    summary = _summary(application, checks, found)
    tables = [
        summary,
        _models(application, checks, opened),
        _data_sources(application),
        _differences(checks, found),
        _to_write(found),
        _places(application, found),
        Table(
            "Not read",
            "Files, or parts of them, that the report leaves out.",
            ("Where and why",),
            [(text,) for text in _unread(application)],
        ),
    ]
    return Report(
        f"LoopBack application in {application.root.name}",
        list(_first(application, checks, opened, unlocked)),
        [table for table in tables if table.rows],
        _data(application, checks, found, summary, opened, unlocked),
    )


def _open_models(application: Application, checks: Sequence[ModelCheck]) -> list[str]:
    """Return the public models that everybody can call: neither they nor their bases have rules.

    They are served here, too.
    """
    return [
        check.model.name
        for check in checks
        if check.is_kept and check.model.is_public
        if not any(_has_rules(application, base) for base in application.bases(check.model.name))
    ]


def _has_rules(application: Application, name: str) -> bool:
    model = application.models.get(name)
    return bool(model and model.acls) or (name in WITH_RULES and not (model and model.file))


def _first(
    application: Application, checks: Sequence[ModelCheck], opened: Sequence[str], unlocked: bool
) -> Iterator[str]:
    if unlocked:
        yield (
            "No script calls enableAuth(): LoopBack then checks no rules, and everybody may call"
            " everything. Ostiary always checks them."
        )
    if opened:
        public = sum(check.is_kept and check.model.is_public for check in checks)
        yield (
            f"{len(opened)} of {public} public models have no acls, so that LoopBack lets everybody"
            f" read and write them: {', '.join(opened)}. Ostiary refuses these calls, unless"
            " DEFAULT_PERMISSION is allow."
        )
    if application.other_environments:
        places = ", ".join(map(application.place, application.other_environments))
        yield f"Read for NODE_ENV={application.environment}; not read are {places}."


def _summary(
    application: Application, checks: Sequence[ModelCheck], found: Sequence[Finding]
) -> Table:
    """Return, for each kind, how many move by themselves, with a difference, or not at all."""
    # Other models, such as those that are types of properties, have no endpoints either.
    moved = Counter(_verdict(check) for check in checks if check.is_kept or check.model.is_public)
    as_is, otherwise = moved[BY_ITSELF] + moved[OWN_ENDPOINTS], moved[OTHERWISE]
    rules = sum(len(model.acls) for model in application.models.values())
    mixins = {name for check in checks for name in check.mixins}
    counts = [
        ("models", as_is, otherwise, moved.total() - as_is - otherwise),
        ("rules", rules, 0, 0),
        *((_plural(kind), 0, n, 0) for kind, n in _counts(found, MOVES_OTHERWISE).items()),
        ("mixins of models", 0, 0, len(mixins)),
        *((_plural(kind), 0, 0, n) for kind, n in _counts(found, TO_WRITE).items()),
    ]
    itself, differently, written = (sum(column) for column in list(zip(*counts, strict=True))[1:])
    sentence = (
        f"{itself} parts move by themselves, {differently} with a difference; {written} are to be"
        f" written or changed, with {_lines(found)} lines of JavaScript."
    )
    return Table(
        "The work by counts",
        sentence,
        ("What", "By itself", "With a difference", "To be written"),
        [row for row in counts if any(row[1:])],
    )


def _plural(kind: Kind) -> str:
    return PLURALS.get(kind, f"{kind}s")


def _counts(found: Iterable[Finding], kinds: Mapping[Kind, str]) -> dict[Kind, int]:
    counter = Counter(finding.kind for finding in found)
    return {kind: counter[kind] for kind in kinds if counter[kind]}


def _lines(found: Iterable[Finding]) -> int:
    """Return the number of lines of the findings that must be written."""
    lines = {
        (finding.file, line)
        for finding in found
        if finding.kind in TO_WRITE
        for node in _nodes(finding)
        for line in range(node.start_point.row, node.end_point.row + 1)
    }
    return len(lines)


def _nodes(finding: Finding) -> Iterator[Any]:
    if finding.node:
        yield finding.node
    if isinstance(finding.details, RemoteMethod) and finding.function:
        yield finding.function.node


def _models(application: Application, checks: Sequence[ModelCheck], opened: Sequence[str]) -> Table:
    moves = [(check.model, check.root, _verdict(check)) for check in checks]
    moves += [
        (model, "LoopBack's own", "is part of the service, or not needed")
        for model in application.models.values()
        if not model.file
    ]
    rows = [
        (
            *(model.name, root, model.data_source or "-"),
            f"/{model.path}" if model.is_public else "-",
            len(model.mapping("properties")),
            len(model.mapping("relations")),
            "open" if model.name in opened else len(model.acls),
            verdict,
        )
        for model, root, verdict in moves
    ]
    return Table("Models", "", MODEL_COLUMNS, rows)


def _verdict(check: ModelCheck) -> str:
    if not check.is_kept:
        if check.root in WITHOUT_ROWS and check.model.is_public:
            return OWN_ENDPOINTS
        is_stored = check.root in (*PERSISTED, USER)
        return f"no rows: {'no data source' if is_stored else f'a model of {check.root}'}"
    if check.problems:
        return "is to be changed"
    return OTHERWISE if check.differences else BY_ITSELF


def _data_sources(application: Application) -> Table:
    users = Counter(model.data_source for model in application.models.values())
    rows = [
        (name, connector_of(source) or "-", users[name], _future(source))
        for name, source in application.data_sources.items()
    ]
    return Table("Data sources", "", ("Name", "Connector", "Models", "Moves"), rows)


def _future(source: Mapping[str, Any]) -> str:
    connector = connector_of(source)
    if connector in SERVED and source.get("provider", "filesystem") in PROVIDERS:
        return "by itself: datasources.json"
    if connector in DATABASES:
        return "its rows move into the project's database"
    if connector == "transient":
        return "not needed"
    if connector == "mail":
        return "with a difference: the setting MAIL_URL"
    return "is to be replaced"


def _differences(checks: Sequence[ModelCheck], found: Sequence[Finding]) -> Table:
    kept = [check for check in checks if check.is_kept]
    # The problems of a base are also those of all models that extend it.
    problems = dict.fromkeys(text for check in kept for text in check.problems)
    differences = dict.fromkeys(text for check in kept for text in check.differences)
    counts = _counts(found, MOVES_OTHERWISE).items()
    rows = [
        *(("to be changed", text) for text in problems),
        *(("difference", text) for text in differences),
        *((f"{count} {_plural(kind)}", MOVES_OTHERWISE[kind]) for kind, count in counts),
    ]
    return Table("What moves with a difference", "", ("What", "How"), rows)


def _to_write(found: Sequence[Finding]) -> Table:
    rows = [
        (_plural(kind), count, _lines(one for one in found if one.kind == kind), TO_WRITE[kind])
        for kind, count in _counts(found, TO_WRITE).items()
    ]
    return Table("What is to be written", "", ("What", "Number", "Lines", "As"), rows)


def _places(application: Application, found: Sequence[Finding]) -> Table:
    rows = [
        (
            str(finding.kind),
            finding.model or "-",
            finding.name,
            application.place(finding.file, finding.line),
        )
        for finding in found
        if finding.kind in (*TO_WRITE, *MOVES_OTHERWISE)
    ]
    return Table("Where it is", "", ("What", "Model", "Name", "Place"), rows)


def _unread(application: Application) -> list[str]:
    return [*application.problems.found, *application.problems.warnings]


def _data(
    application: Application,
    checks: Sequence[ModelCheck],
    found: Sequence[Finding],
    summary: Table,
    opened: Sequence[str],
    unlocked: bool,
) -> dict[str, Any]:
    return {
        "folder": application.root.name,
        "environment": application.environment,
        "otherEnvironments": [*map(application.place, application.other_environments)],
        "authentication": not unlocked,
        "openModels": list(opened),
        "counts": {
            row[0]: dict(zip(("byItself", "withDifference", "toWrite"), row[1:], strict=True))
            for row in summary.rows
        },
        "lines": _lines(found),
        "models": [_model_data(application, check) for check in checks],
        "ownModels": [model.name for model in application.models.values() if not model.file],
        "unlistedModels": list(application.unlisted),
        "dataSources": {
            name: {"connector": connector_of(source), "moves": _future(source)}
            for name, source in application.data_sources.items()
        },
        "components": list(application.components),
        "providers": list(application.providers),
        "findings": [_finding_data(application, finding) for finding in found],
        "notRead": _unread(application),
    }


def _model_data(application: Application, check: ModelCheck) -> dict[str, Any]:
    model = check.model
    return {
        "name": model.name,
        "file": application.place(model.file) if model.file else None,
        "script": application.place(model.script) if model.script else None,
        "root": check.root,
        "dataSource": model.data_source,
        "path": f"/{model.path}" if model.is_public else None,
        "rules": len(model.acls),
        "verdict": _verdict(check),
        "problems": check.problems,
        "differences": check.differences,
    }


def _finding_data(application: Application, finding: Finding) -> dict[str, Any]:
    """Return a finding without its text, which may contain secrets."""
    return {
        "kind": str(finding.kind),
        "model": finding.model,
        "name": finding.name,
        "file": application.place(finding.file),
        "line": finding.line,
        "hasFunction": finding.function is not None,
        "isCertain": finding.is_certain,
        **_details(finding),
    }


def _details(finding: Finding) -> dict[str, Any]:
    """Return the plain fields of a finding's details, and what a remote method declares."""
    details = finding.details
    if isinstance(details, RemoteMethod):
        return {
            "isStatic": details.is_static,
            "accepts": [_argument(argument) for argument in details.accepts],
            "returns": [_argument(argument) for argument in details.returns],
            "http": [dict(route) for route in details.http],
        }
    return {"properties": list(details.properties)} if isinstance(details, Validation) else {}


def _argument(argument: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("arg", "type", "required", "root")
    return {key: _plain(argument[key]) for key in kept if key in argument}


def _plain(value: Any) -> Any:
    """Return a value as JSON, with null for parts that are not literals."""
    if isinstance(value, Expression):
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
