"""Imports by name, which import-linter does not see, keep the contracts of `setup.cfg` too."""

import ast
import re
from configparser import ConfigParser

import grimp
import pytest

from tests.support.installation import ROOT

# The importer may be missing.
PACKAGES = [
    name
    for name in ("app", "ostiary", "ostiary_loopback")
    if (ROOT / name / "__init__.py").exists()
]
# A string that is a module's name, or one of a name in it, as gunicorn takes them too.
NAME = re.compile(rf"(?:python:)?((?:{'|'.join(PACKAGES)})(?:\.\w+)+)(?::\w+)?")
CONTRACTS = ConfigParser()
CONTRACTS.read(ROOT / "setup.cfg")
LAYERS = [
    section
    for section in CONTRACTS.sections()
    if section.startswith("importlinter:contract:")
    and CONTRACTS[section]["type"] == "layers"
    and CONTRACTS[section].get("containers", "app").split()[0].partition(".")[0] in PACKAGES
]


def imports_by_name(graph):
    """Yield pairs of a module, and a module whose name is a string in it."""
    for importer in sorted(graph.modules):
        path = ROOT.joinpath(*importer.split("."))
        file = path.with_suffix(".py")
        if not file.exists():
            file = path / "__init__.py"
        for text in _strings(ast.parse(file.read_text(encoding="utf-8"))):
            imported = _module(text, graph)
            # Loggers have the names of packages around them.
            if imported and not f"{importer}.".startswith(f"{imported}."):
                yield importer, imported


def _strings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _module(text, graph):
    """Return the module that a string names, with a name in it or not; None if there is none."""
    if (name := NAME.fullmatch(text)) is None:
        return None
    module = name[1]
    while module not in graph.modules:
        module = module.rpartition(".")[0]
    # A key such as `ostiary.commands` begins with the name of a package.
    return module if module not in PACKAGES else None


@pytest.fixture(scope="module")
def graph():
    """All imports: by statements, and by name."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for importer, imported in imports_by_name(graph):
        graph.add_import(importer=importer, imported=imported)
    return graph


def test_imports_by_name_are_found(graph):
    found = set(imports_by_name(graph))

    assert ("app.commandline.command", "app.factory") in found
    assert ("app.commandline.gunicorn_settings", "app.server.worker") in found


@pytest.mark.parametrize("section", LAYERS, ids=lambda section: section.rpartition(":")[2])
def test_imports_by_name_point_downward(graph, section):
    contract = CONTRACTS[section]
    layers = [
        grimp.Layer(*re.findall(r"\w+", line), independent="|" in line)
        for line in contract["layers"].split("\n")
        if line
    ]

    containers = set(contract.get("containers", "").split()) or None
    wrong = graph.find_illegal_dependencies_for_layers(layers=layers, containers=containers)

    assert sorted((package.importer, package.imported) for package in wrong) == []


def test_imports_by_name_make_no_cycles(graph):
    packages = [name for name in graph.modules if graph.find_children(name)]

    cycles = {name: graph.nominate_cycle_breakers(name) for name in packages}

    assert {name: breakers for name, breakers in cycles.items() if breakers} == {}
