"""The Python files of a project, with stubs for the functions of the JavaScript."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript import Finding, Kind
from ostiary_loopback.javascript.finding import RemoteMethod

from .code import Code
from .files import ProjectFile
from .hooks import HOOKS, RUNNING, add_hook, add_role, add_route
from .methods import add_method
from .models import certain_disabled, file_name
from .names import other_names
from .roles import models_of_role
from .validations import translate_validations

# The file for functions that are not about a model of the application.
OTHERS = "models/_loopback.py"


def code_files(application: Application, found: Sequence[Finding]) -> list[ProjectFile]:
    """Return the Python files beside the models, and the one for functions about none of them."""
    by_model: dict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        for name in _models_of(application, finding):
            by_model[name].append(finding)
    files = []
    for name, findings in sorted(by_model.items()):
        model = application.models[name] if name else None
        names = other_names(application, model, findings) if model else {}
        code = Code(application, model, names)
        done = _done(application, model, findings) if model else []
        for finding in findings:
            if finding not in done:
                _add(code, finding)
        if code.parts:
            path = f"models/{file_name(model)}.py" if model else OTHERS
            files.append(ProjectFile(path, code.text, code.changes))
    return files


def _models_of(application: Application, finding: Finding) -> list[str]:
    """Return the names of the models beside whose files a function is; an empty one for none."""
    if finding.kind == Kind.ROLE_RESOLVER:
        return [model.name for model in models_of_role(application, finding)] or [""]
    model = application.models.get(finding.model or "")
    return [model.name if model is not None and model.definition else ""]


def notes(found: Sequence[Finding]) -> Iterator[str]:
    """Yield notes on the hooks that must be written."""
    if number := sum(finding.kind in RUNNING for finding in found):
        yield (
            f"the application has {number} hooks: those that `ostiary loopback todo` lists do"
            " nothing until they are written, also if they refuse calls in LoopBack 3"
        )


def _done(application: Application, model: Model, found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that the model's JSON declares."""
    _, validations = translate_validations(model, application.is_user(model), found)
    return [*validations, *certain_disabled(found, model)]


def _add(code: Code, finding: Finding) -> None:
    if isinstance(finding.details, RemoteMethod):
        add_method(code, finding, finding.details)
    elif finding.kind == Kind.ROLE_RESOLVER:
        add_role(code, finding)
    elif finding.kind == Kind.ROUTE:
        add_route(code, finding)
    elif finding.kind in HOOKS:
        add_hook(code, finding)
