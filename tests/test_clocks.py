"""No test depends on how long something takes, or on a clock that only goes forward."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
# Where tests wait, what measures them, the test of the clock, and that of what measures requests.
OTHERS = {"support/waiting.py", "support/times.py", "test_times.py", "test_benchmarks.py"}
# Those are no tests.
COMMANDS = {
    "drills",
    "support/service_manager.py",
    "loopback/__main__.py",
    "loopback/sources.py",
    "loopback/record.py",
}
# CPU time is no clock: a busy machine does not prolong it.
CLOCKS = {"now", "utcnow", "time", "monotonic", "perf_counter"}
MODULES = {"time", "datetime", "times"}


def test_no_test_sleeps_or_asserts_what_a_clock_says():
    found = []
    for file in sorted(TESTS.rglob("*.py")):
        name = str(file.relative_to(TESTS))
        if name in OTHERS or "node_modules" in name or name.startswith(tuple(COMMANDS)):
            continue
        tree = ast.parse(file.read_text())
        found += [f"tests/{name}:{line}" for line in sorted({*_sleeps(tree), *_asserted(tree)})]

    assert found == []


def _sleeps(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that wait for a time instead of an event."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"sleep", "time.sleep"}:
            yield node.lineno


def _asserted(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of assertions about a clock, or about a variable that has its time."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            read = {
                target.id
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and _is_clock(node.value)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Assert) and any(
                    _is_clock(part) or (isinstance(part, ast.Name) and part.id in read)
                    for part in ast.walk(node.test)
                ):
                    yield node.lineno


def _is_clock(node: ast.AST) -> bool:
    """Return True for a call of a clock, and for a difference from one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return _is_clock(node.left) or _is_clock(node.right)
    if not isinstance(node, ast.Call):
        return False
    module, _, name = ast.unparse(node.func).rpartition(".")
    return name in CLOCKS and (module in MODULES or (not module and name != "time"))
