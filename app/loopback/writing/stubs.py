"""The Python of a project: a stub for what an application's JavaScript does."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword

from app.loopback.application import Application, Model
from app.loopback.javascript import Finding, Kind
from app.loopback.javascript.finding import (
    Function,
    OperationHook,
    RemoteHook,
    RemoteMethod,
    RoleResolver,
)
from app.loopback.printing import printable
from app.rest.endpoint import VERBS, declared_by
from app.rest.shared_methods import ALIASES, UNSERVED
from app.rest.views.collection import CollectionViews
from app.users.resource import users

from .arguments import answer_of, arguments_of, body_of, parameters_of, schema_lines
from .files import ProjectFile
from .javascript import masked_source
from .models import certain_disabled, file_name, has_rows
from .python import WIDTH, comment, function_name, literal
from .translations import translate_hook
from .validations import translate_validations

# The file for what is about no model of the application.
OTHERS = "models/_loopback.py"
# Methods that every collection, and users, have already.
SERVED = {
    *declared_by(CollectionViews),
    *(endpoint.method for endpoint in declared_by(CollectionViews).values()),
    *(endpoint.method for endpoint in users.own_endpoints),
    *ALIASES,
    *UNSERVED,
}
NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
PATH = re.compile(r"(/(:[A-Za-z]\w*|[\w.~@!$'()*+,;=-]+))*/?", re.ASCII)
# The verbs of a method for which any verb will do.
ALL = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Names that a file uses for itself, or for what it imports.
TAKEN = {
    *("extend", "init_app", "fields", "has_request_context", "marshmallow", "now", "resource"),
    *("hook_stub", "method_stub", "role_stub"),
}
# Parameters of a view that its route does not have.
PARAMETERS = ("row", "body")
# From Flask's placeholders to those of OpenAPI.
PLACEHOLDERS = str.maketrans("<>", "{}")
# LoopBack 3's hooks with a hook of Ostiary.
EVENTS = {
    "before save": "before_save",
    "after save": "after_save",
    "before delete": "before_delete",
    "after delete": "after_delete",
    "loaded": "loaded",
}
HOOKS = (
    Kind.OPERATION_HOOK,
    Kind.REMOTE_HOOK,
    Kind.OVERRIDE,
    Kind.VALIDATION,
    Kind.DISABLED_METHOD,
)


@dataclass
class Code:
    """The Python of one file: its functions, and the lines of its function `extend`."""

    parts: list[str] = field(default_factory=list)
    extending: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: set(TAKEN))
    methods: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)

    def name(self, text: str) -> str:
        """Return a new name for a function."""
        name = function_name(text, self.taken)
        self.taken.add(name)
        return name


def code_files(application: Application, found: Sequence[Finding]) -> list[ProjectFile]:
    """Return the Python beside the models, and that of what is about none of them."""
    by_model: dict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        model = application.models.get(finding.model or "")
        known = model is not None and bool(model.definition) and finding.kind != Kind.ROLE_RESOLVER
        by_model[finding.model or "" if known else ""].append(finding)
    files = []
    for name, findings in sorted(by_model.items()):
        model = application.models[name] if name else None
        code = _code(application, model, findings)
        if code.parts:
            path = f"models/{file_name(model)}.py" if model else OTHERS
            files.append(ProjectFile(path, _file(code, model), code.changes))
    return files


def notes(found: Sequence[Finding]) -> Iterator[str]:
    """Yield what has to be known of the hooks that are not written."""
    kinds = (Kind.OPERATION_HOOK, Kind.REMOTE_HOOK, Kind.OVERRIDE)
    if number := sum(finding.kind in kinds for finding in found):
        yield (
            f"the application has {number} hooks: those that `ostiary loopback todo` lists do"
            " nothing until they are written, also if they refuse calls in LoopBack 3"
        )


def _code(application: Application, model: Model | None, found: Sequence[Finding]) -> Code:
    code = Code()
    done = _done(application, model, found) if model else []
    for finding in found:
        if finding in done:
            continue
        details = finding.details
        if isinstance(details, RemoteMethod):
            _add_method(application, code, model, finding, details)
        elif isinstance(details, RoleResolver):
            _add_role(application, code, finding, details)
        elif finding.kind in HOOKS:
            _add_hook(application, code, model, finding)
    return code


def _done(application: Application, model: Model, found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that the model's JSON says."""
    _, validations = translate_validations(model, application.is_user(model), found)
    return [*validations, *certain_disabled(found, model)]


def _file(code: Code, model: Model | None) -> str:
    """Return the text of a file, with the imports that it needs."""
    body = "\n\n".join(code.parts)
    if model is not None:
        first = f"    {_docstring(f'Add what the JavaScript of {model.name} does')}\n"
        extending = "".join(code.extending)
        body += f"\n\ndef extend(resource: Resource) -> None:\n{first}{extending}"
    subject = f"the JavaScript of {model.name}" if model else "the scripts of the application"
    verb = "does" if model else "do"
    return f"{_docstring(f'What {subject} {verb}')}\n\n{_imports(body)}\n\n{body}"


def _imports(body: str) -> str:
    code = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("#"))
    stubs = [name for name in ("hook_stub", "method_stub", "role_stub") if f"@{name}(" in code]
    accesses = [name for name in ("EXECUTE", "READ", "WRITE") if f", {name}, " in code]
    lines = ["from typing import Any\n" if "Any" in code else ""]
    lines.append("import marshmallow" if "marshmallow." in code else "")
    lines.append("from flask import has_request_context" if "has_request_context" in code else "")
    lines = ["\n".join(filter(None, lines)) + "\n" if any(lines[1:]) else lines[0]]
    lines += [
        "from ostiary import fields" if "fields." in code.replace("marshmallow.fields", "") else "",
        "from ostiary.columns import now" if "now()" in code else "",
        "from ostiary.errors import AuthorizationRequired"
        if "AuthorizationRequired" in code
        else "",
        f"from ostiary.loopback import {', '.join(stubs)}" if stubs else "",
        "from ostiary.resources import Resource" if "Resource)" in code else "",
        f"from ostiary.rules import {', '.join(accesses)}" if accesses else "",
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _add_method(
    application: Application,
    code: Code,
    model: Model | None,
    finding: Finding,
    method: RemoteMethod,
) -> None:
    name = f"{finding.model or '?'}.{method.name}"
    description = method.description or f"{method.name} of LoopBack"
    is_named = bool(NAME.fullmatch(method.name))
    routes = list(routes_of(method)) if is_named else []
    is_free = method.name not in SERVED | code.methods and not method.name.startswith("__")
    paths = [_public_path(model, route) for route in routes]
    view = code.name(method.name)
    text = _javascript(application, finding, method.function)
    if not (model and routes and is_free):
        signature = f"{view}(*arguments: Any, **named: Any)"
        text = _why_not(model, is_free) + text
        code.parts.append(_stub("method_stub", [name, *paths], signature, description, text))
        return
    code.methods.add(method.name)
    arguments = arguments_of(method)
    by_row = "<id>" in routes[0] and has_rows(application, model)
    schema = code.name(f"{method.name}Body") if arguments else ""
    schema = "".join(word.capitalize() for word in schema.split("_"))
    fields_ = list(schema_lines(arguments))
    if fields_:
        lines = "".join(f"    {line}\n" for line in fields_)
        code.parts.append(
            f"class {schema}(fields.Schema):\n"
            f"    {_docstring(f'The body of {method.name}')}\n\n{lines}"
        )
    body = body_of(arguments, schema)
    path_names = dict.fromkeys(n for route in routes for n in re.findall(r"<(\w+)>", route))
    parameters = ["row: Any"] if by_row else []
    parameters += [f"{n}: str" for n in path_names if n != "id" or not by_row]
    parameters += ["body: Any"] if fields_ else []
    signature = f"{view}({', '.join(parameters)})"
    code.parts.append(_stub("method_stub", [name, *paths], signature, description, text))
    code.extending.append(_endpoint(method, routes, view, body, parameters_of(arguments), by_row))


def _stub(
    decorator: str, arguments: Sequence[str], signature: str, description: str, text: str
) -> str:
    """Return a function that is to be written; `text` is the comments in it."""
    return (
        f"@{decorator}({', '.join(map(literal, arguments))})\ndef {signature} -> Any:\n"
        f"    {_docstring(description)}\n{text}"
    )


def _why_not(model: Model | None, is_free: bool) -> str:
    if model is None:
        reason = "its model is none of the application's own."
    elif not is_free:
        reason = "Ostiary has a method of this name, which stays as it is."
    else:
        reason = "its name or its route is known only when the JavaScript runs."
    return comment(f"It is not served: {reason}")


def _access(method: RemoteMethod) -> str:
    """Return the access type by which LoopBack 3's rules find a method."""
    declared = str(method.options.get("accessType") or "").upper()
    if declared:
        return declared if declared in ("READ", "WRITE") else "EXECUTE"
    # Of several routes it knows no verb.
    http = method.options.get("http")
    verb = str(http.get("verb")).upper() if isinstance(http, Mapping) else ""
    return "READ" if verb in ("GET", "HEAD") else "EXECUTE"


def _endpoint(
    method: RemoteMethod,
    routes: Sequence[str],
    view: str,
    body: str,
    parameters: Sequence[Mapping[str, object]],
    by_row: bool,
) -> str:
    lines = [f"{literal(method.name)}, {_access(method)}, {', '.join(map(literal, routes))},"]
    answer = answer_of(method)
    if "<id>" in routes[0] and not by_row:
        lines.append("finds_row=False,")
    if body:
        lines.append(f"body={body},")
    if answer is not None:
        lines.append(f"answer={literal(answer)},")
    if parameters:
        lines.append(f"parameters={literal(tuple(parameters))},")
    inner = "".join(f"        {line}\n" for line in lines)
    return f"    resource.endpoint(\n{inner}    )({view})\n"


def routes_of(method: RemoteMethod) -> Iterator[str]:
    """Yield the routes of a method as an endpoint has them; either all have `<id>`, or none."""
    found = dict[str, None]()
    for route in method.http:
        path = route["path"] if route["path"].startswith("/") else f"/{route['path']}"
        path = path if method.is_static else f"/:id{path}"
        verb = route["verb"].upper()
        if not PATH.fullmatch(path) or verb not in (*VERBS, "ALL"):
            continue
        path = re.sub(r":(\w+)", _placeholder, path)
        for each in ALL if verb == "ALL" else (verb,):
            found[f"{each} {path.rstrip('/') or '/'}"] = None
    by_id = "<id>" in next(iter(found), "")
    yield from (route for route in found if ("<id>" in route) == by_id)


def _placeholder(parameter: re.Match[str]) -> str:
    """Return the placeholder of a parameter, whose name a view can have."""
    name = parameter[1]
    return f"<{name}_>" if iskeyword(name) or name in PARAMETERS else f"<{name}>"


def _public_path(model: Model | None, route: str) -> str:
    verb, _, path = route.partition(" ")
    below = f"/{model.path}" if model else ""
    return f"{verb} {below}{path.translate(PLACEHOLDERS)}"


def _add_role(
    application: Application, code: Code, finding: Finding, details: RoleResolver
) -> None:
    role = code.name(details.role)
    models = [
        model.name
        for model in application.models.values()
        if any(rule.get("principalId") == details.role for rule in model.acls)
    ]
    where = f"Rules of {', '.join(models)} name it." if models else "No rule names it."
    key = literal(details.role)
    how = f"Written, it is added in `extend` of the model: resource.roles[{key}] = {role}"
    description = f"Return the rows for which a user has the role {details.role}"
    text = comment(where) + comment(how) + _javascript(application, finding, details.function)
    code.parts.append(
        _stub("role_stub", [details.role], f"{role}(user_id: Any)", description, text)
    )


def _add_hook(application: Application, code: Code, model: Model | None, finding: Finding) -> None:
    translation = translate_hook(application, model, finding) if model else None
    details = finding.details
    what = finding.name
    if isinstance(details, OperationHook):
        what = details.event
    elif isinstance(details, RemoteHook):
        what = f"{details.when} {details.method}"
    elif finding.kind == Kind.OVERRIDE:
        what = f"{finding.name}, in place of LoopBack's"
    elif finding.kind == Kind.DISABLED_METHOD:
        what = f"switches off {finding.name}"
    view = code.name(what)
    function = getattr(details, "function", None)
    text = _javascript(application, finding, function)
    if translation is not None:
        code.parts.append(
            f"def {view}(resource: Resource, event: Any) -> None:\n"
            f"    {_docstring(translation.text)}\n{text}{''.join(translation.lines)}"
        )
        code.extending.append(f"    resource.before_save.connect({view})\n")
        place = application.place(finding.file, finding.line)
        code.changes.append(f"{what} is translated: {translation.text} ({place})")
        return
    event = EVENTS.get(what)
    how = comment(f"Written, it is connected in `extend`: resource.{event}.connect({view})")
    code.parts.append(
        f"@hook_stub({literal(': '.join(filter(None, [finding.model, what])))})\n"
        f"def {view}(resource: Any, event: Any) -> None:\n"
        f"    {_docstring(f'{what} of LoopBack')}\n{how if event else ''}{text}"
    )


def _javascript(application: Application, finding: Finding, function: Function | None) -> str:
    """Return the JavaScript as a comment, with its place."""
    node, line = (function.node, function.line) if function else (finding.node, finding.line)
    place = application.place(finding.file, line)
    return comment(f"{place}:\n{masked_source(node) if node else finding.source}")


def _docstring(text: str) -> str:
    """Return one line as a docstring."""
    words = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    words = printable(words)[: WIDTH - 20].rstrip(" .'")
    return f'"""{words[:1].upper()}{words[1:]}."""'
