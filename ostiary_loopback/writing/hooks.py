"""Hooks, roles and routes of an application: translated, or stubs."""

from ostiary_loopback.application import Model
from ostiary_loopback.javascript import Finding, Kind
from ostiary_loopback.javascript.finding import Membership

from .code import Code
from .python import comment, literal
from .roles import role_lines
from .translations import Translation, translate_hook

# The hooks of LoopBack 3 that Ostiary has, too.
EVENTS = {
    "before save": "before_save",
    "after save": "after_save",
    "before delete": "before_delete",
    "after delete": "after_delete",
    "loaded": "loaded",
}
# Hooks that do not run until they are written.
RUNNING = (Kind.OPERATION_HOOK, Kind.REMOTE_HOOK, Kind.OVERRIDE)
HOOKS = (*RUNNING, Kind.VALIDATION, Kind.DISABLED_METHOD)


def add_hook(code: Code, finding: Finding) -> None:
    """Add a hook, translated if its effect is certain."""
    what = _subject(finding)
    view = code.name(what)
    text = code.javascript(finding)
    found = translate_hook(code.application, code.model, finding) if code.model else None
    if found is not None:
        _add_translation(code, finding, f"{what} is translated", view, found, text)
        return
    event = EVENTS.get(what)
    how = comment(f"Written, it is connected in `extend`: resource.{event}.connect({view})")
    name = ": ".join(filter(None, [finding.model, what]))
    signature = f"{view}(resource: Any, event: Any) -> None"
    code.add_stub(
        "hook_stub", [name], signature, f"{what} of LoopBack", (how if event else "") + text
    )


def _subject(finding: Finding) -> str:
    """Return the label of a hook in lists."""
    if finding.kind == Kind.OVERRIDE:
        return f"{finding.name}, in place of LoopBack's"
    return f"switches off {finding.name}" if finding.kind == Kind.DISABLED_METHOD else finding.name


def _add_translation(
    code: Code, finding: Finding, what: str, view: str, found: Translation, text: str
) -> None:
    definition = f"def {view}(resource: Resource, event: Any) -> None"
    code.add_function(definition, found.text, f"{text}{''.join(found.lines)}")
    code.extending.append(f"    resource.before_save.connect({view})\n")
    place = code.application.place(finding.file, finding.line)
    code.changes.append(f"{what}: {found.text} ({place})")


def add_role(code: Code, finding: Finding) -> None:
    """Add a dynamic role."""
    role = code.name(finding.name)
    if code.model and isinstance(finding.details, Membership):
        _add_translated_role(code, code.model, finding, finding.details, role)
        return
    models = [
        model.name
        for model in code.application.models.values()
        if any(rule.get("principalId") == finding.name for rule in model.acls)
    ]
    where = f"Rules of {', '.join(models)} name it." if models else "No rule names it."
    key = literal(finding.name)
    how = f"Written, it is added in `extend` of the model: resource.roles[{key}] = {role}"
    description = f"Return the rows for which a user has the role {finding.name}"
    text = comment(where) + comment(how) + code.javascript(finding)
    code.add_stub("role_stub", [finding.name], f"{role}(user_id: Any) -> Any", description, text)


def _add_translated_role(
    code: Code, model: Model, finding: Finding, found: Membership, role: str
) -> None:
    what = f"a user has the role {finding.name} for a {model.name}"
    lines = role_lines(code.application, model, found)
    code.add_function(
        f"def {role}(user_id: Any) -> Any",
        f"Return the condition that {what}",
        f"{code.javascript(finding)}{lines}",
    )
    code.extending.append(f"    resource.roles[{literal(finding.name)}] = {role}\n")
    place = code.application.place(finding.file, finding.line)
    code.changes.append(f"the role {finding.name} is translated ({place})")


def add_route(code: Code, finding: Finding) -> None:
    """Add a route beside the models."""
    how = comment("Written, it is a view of Flask, which `init_app` of project.py adds.")
    text = how + code.javascript(finding)
    signature = f"{code.name(finding.name)}(**arguments: Any) -> Any"
    code.add_stub("route_stub", [finding.name], signature, f"Answer {finding.name}", text)
