"""Reading the scripts of an application, and the remote methods in the JSON of its models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tree_sitter import Node

from app.problems import describe_error
from ostiary_loopback.application import Application
from ostiary_loopback.literals import arguments_of
from ostiary_loopback.syntax import Script, line_of, parse, text_of, walk

from .assignments import read_assignment, read_connector
from .calls import read_call, remote_method
from .finding import PROTOTYPE, Finding, Found, Function, Kind, RemoteMethod
from .scope import MAX_SOURCE, Scope, read_scope

#: Maximum number of findings of an application.
MAX_FINDINGS = 20_000
JOBS = ("CronJob", "cron.CronJob")
# LoopBack's own models, which scripts can use even if model-config.json does not list them.
OWN_MODELS = ("User", "AccessToken", "ACL", "Role", "RoleMapping", "Scope", "Email", "Application")

# Functions by their models and names.
_Functions = Mapping[tuple[str | None, str], Function | None]


def findings(application: Application) -> list[Finding]:
    """Return the findings in the scripts, by file and line.

    Scripts that cannot be read are added to the application's problems.
    """
    names = (*OWN_MODELS, *application.unlisted, *application.models)
    models = {name.lower(): name for name in names}
    scripts = {
        model.script.resolve(): name
        for name, model in {**application.unlisted, **application.models}.items()
        if model.script
    }
    boot = {path.resolve() for path in application.boot_scripts}
    for path in application.unread:
        application.problems.warn(application.place(path), "is not read: it is no JavaScript")
    found: list[Finding] = []
    for path in application.scripts:
        script = _parse(application, path)
        if script is None:
            continue
        scope = read_scope(script, models, scripts.get(path.resolve()))
        found.extend(_read(scope, path.resolve() in boot))
        if len(found) > MAX_FINDINGS:
            application.problems.add(
                application.place(path), f"the rest is not read: there are {MAX_FINDINGS} findings"
            )
            break
    return _join(application, found)


def _parse(application: Application, path: Path) -> Script | None:
    try:
        script = parse(path)
    except OSError as error:
        application.problems.add(
            application.place(path), f"cannot be read: {describe_error(error)}"
        )
        return None
    for line in script.errors:
        application.problems.add(application.place(path, line), "syntax error; the rest is read")
    return script


def _read(scope: Scope, is_boot: bool) -> Iterator[Finding]:
    path = scope.script.path
    for node in walk(scope.script.root):
        for found in _found(scope, node, is_boot):
            yield Finding(*found, path, line_of(node), text_of(node, MAX_SOURCE), node)


def _found(scope: Scope, node: Node, is_boot: bool) -> Iterator[Found]:
    if node.type == "call_expression":
        yield from read_call(scope, node, is_boot)
    elif node.type == "assignment_expression":
        yield from read_assignment(scope, node)
        yield from read_connector(scope, node)
    elif node.type == "new_expression":
        constructor = node.child_by_field_name("constructor")
        if constructor is not None and text_of(constructor) in JOBS and arguments_of(node):
            yield Found(Kind.CRON, None, text_of(constructor))


def _join(application: Application, found: Sequence[Finding]) -> list[Finding]:
    """Add their functions to remote methods, and remove the findings of these functions."""
    functions = {
        (finding.model, finding.name): finding.function
        for finding in found
        if finding.kind in (Kind.FUNCTION, Kind.OVERRIDE)
    }
    joined = [_with_function(finding, functions) for finding in found]
    joined += _of_json(application, functions)
    remote = {_function_of(finding) for finding in joined}
    kept = [
        finding
        for finding in joined
        if finding.kind != Kind.FUNCTION or (finding.model, finding.name) not in remote
    ]
    return sorted(kept, key=lambda finding: (str(finding.file), finding.line))


def _function_of(finding: Finding) -> tuple[str | None, str]:
    """Return the model of a remote method, and the name of its function."""
    method = finding.details
    if not isinstance(method, RemoteMethod):
        return None, ""
    return finding.model, method.name if method.is_static else PROTOTYPE + method.name


def _with_function(finding: Finding, functions: _Functions) -> Finding:
    if finding.kind != Kind.REMOTE_METHOD:
        return finding
    return replace(finding, function=functions.get(_function_of(finding)))


def _of_json(application: Application, functions: _Functions) -> Iterator[Finding]:
    """Yield the remote methods that the JSON of models declares."""
    for model in application.models.values():
        for name, options in model.mapping("methods").items():
            if isinstance(options, dict):
                found = remote_method(model.name, name, options)
                file = model.file or application.folder
                finding = _with_function(Finding(*found, file, 1, "", None), functions)
                if function := finding.function:
                    finding = replace(finding, source=function.source, node=function.node)
                yield finding
