"""Checks of an application's models by the reader of models in JSON, `app.definitions`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.definitions.bases import PERSISTED, PLAIN, USER, configure, merge
from app.definitions.definition import read_definition
from app.definitions.files import CONFIG, Source
from app.problems import Problems
from app.properties.declaration import Declaration

from .application import Application, Model
from .repairs import repair

# Connectors that a project supports: the rows and files of these data sources are not moved.
SERVED = ("rest", "storage")
# Keys that code beside the model replaces; each is a warning until the code is written.
CODE = ("methods", "mixins")
# What becomes of a model of users beside others.
SEVERAL = (
    "is one of several models of users, each with accounts of its own; of integer ids that users of"
    " two models have, those of the smaller model are replaced everywhere"
)


@dataclass(frozen=True)
class ModelCheck:
    """The result of checking a model."""

    model: Model
    # The built-in model that it or the last of its bases extends.
    root: str
    # Whether it has rows in the project's database, or at a data source.
    is_kept: bool
    # Errors that must be corrected before it can be read, and warnings of what is read differently.
    problems: list[str]
    differences: list[str]
    # The mixins that Ostiary does not have.
    mixins: list[str]


def check_models(application: Application) -> list[ModelCheck]:
    """Return the results for all models that have a definition."""
    problems = Problems()
    repaired = {
        model.name: repair(application, model)
        for model in application.models.values()
        if model.file
    }
    sources = {
        name: _source(application, application.models[name], definition, problems)
        for name, (definition, _) in repaired.items()
    }
    return [
        _check(application, application.models[name], sources, changes)
        for name, (_, changes) in repaired.items()
    ]


def _source(
    application: Application, model: Model, definition: dict[str, Any], problems: Problems
) -> Source:
    path = model.file or Path(CONFIG)
    # LoopBack's generator writes an empty list; `import` writes an object.
    if definition.get("methods") == []:
        del definition["methods"]
    place = application.place(path)
    return Source(path, Declaration(definition, problems, place, separator=": "))


def _check(
    application: Application,
    model: Model,
    sources: Mapping[str, Source],
    changes: Iterable[str],
) -> ModelCheck:
    """Read a single model, so that the problems of its bases are not reported for it.

    `changes` are those with which it is imported.
    """
    problems = Problems()
    own = {name: Source(source.path, _with(problems, source)) for name, source in sources.items()}
    merged = merge(own[model.name], own)
    place = f"{application.place(application.folder / CONFIG)}: {model.name}"
    configure(merged, Declaration(dict(model.config), problems, place))
    is_kept = merged.is_attached and _is_kept(application, model, merged.root)
    if is_kept:
        read_definition(merged)
    mixins = f"{sources[model.name].declared.path}: mixins."
    code = tuple(f": {key}." for key in CODE)
    differences = [
        str(problem) for problem in problems.warned if not any(key in problem.path for key in code)
    ]
    attached = [each for each in application.models.values() if each.data_source]
    users = [each.name for each in attached if application.is_user(each)]
    if len(users) > 1 and model.name in users:
        differences.append(f"{sources[model.name].declared.path}: base: {SEVERAL}")
    return ModelCheck(
        model,
        merged.root,
        is_kept,
        problems.found,
        [*differences, *(f"{sources[model.name].declared.path}: {change}" for change in changes)],
        [
            problem.path.removeprefix(mixins)
            for problem in problems.warned
            if problem.path.startswith(mixins)
        ],
    )


def _with(problems: Problems, source: Source) -> Declaration:
    declared = source.declared
    return Declaration(declared.value, problems, declared.path, declared.separator)


def _is_kept(application: Application, model: Model, root: str) -> bool:
    if root in (*PERSISTED, USER):
        return True
    return root == PLAIN and application.connector(model) in SERVED
