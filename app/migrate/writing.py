"""Writing migration files, formatted as by ruff and Black."""

import ast
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

# The default of ruff and Black.
LINE_LENGTH = 88
# Modules that a migration may use, and how they are imported.
IMPORTS = {
    "sa": "import sqlalchemy as sa",
    "op": "from alembic import op",
    "postgresql": "from sqlalchemy.dialects import postgresql",
    "sqlite": "from sqlalchemy.dialects import sqlite",
}
TEMPLATE = '''"""{message}."""
{imports}
revision = {revision}
down_revision = {parents}
branch_labels = None
depends_on = None
{product}

def upgrade() -> None:
    """Change the tables to what the models have."""
{upgrade}


def downgrade() -> None:
    """Change them back."""
{downgrade}
'''


@dataclass
class Draft:
    """A migration to be written; `upgrade` and `downgrade` are the code of its functions."""

    message: str
    parents: Sequence[str]
    upgrade: str = "pass"
    downgrade: str = "pass"
    revision: str = ""
    product_revision: str | None = None

    def write(self, folder: Path, is_dated: bool = True) -> Path:
        """Write the file into a folder, created if necessary; return its path."""
        revision = self.revision or uuid4().hex[:12]
        slug = re.sub(r"\W+", "_", self.message).strip("_").lower()[:40].rstrip("_")
        date = f"{datetime.now(UTC):%Y%m%d%H%M}_" if is_dated else ""
        path = folder / f"{f'{date}{revision}_{slug}'.rstrip('_')}.py"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(self._text(revision, _line_length(folder)), "utf-8")
        return path

    def _text(self, revision: str, width: int) -> str:
        code = self.upgrade + self.downgrade
        used = [line for name, line in IMPORTS.items() if re.search(rf"\b{name}\.", code)]
        parents = self.parents[0] if len(self.parents) == 1 else tuple(sorted(self.parents)) or None
        product = f"product_revision = {_quoted(self.product_revision)}\n"
        return TEMPLATE.format(
            message=self.message.strip().rstrip(".").replace("\\", "/").replace('"', "'"),
            imports="\n".join(["", *sorted(used, key=_import_order), ""]) if used else "",
            revision=_quoted(revision),
            parents=_literal(parents),
            product=product if self.product_revision else "",
            upgrade=_body(self.upgrade, width),
            downgrade=_body(self.downgrade, width),
        )


def _line_length(folder: Path) -> int:
    """Return the line length set for ruff or Black in the nearest `pyproject.toml`."""
    for parent in folder.resolve().parents:
        try:
            tools = tomllib.loads((parent / "pyproject.toml").read_text("utf-8")).get("tool", {})
        except (OSError, ValueError):
            continue
        for tool in ("ruff", "black"):
            if isinstance(length := tools.get(tool, {}).get("line-length"), int):
                return length
        break
    return LINE_LENGTH


def _import_order(line: str) -> tuple[bool, str]:
    """Sort as ruff does: whole modules first."""
    return line.startswith("from"), line


def _literal(value: object) -> str:
    return _expression(ast.parse(repr(value), mode="eval").body)


def _quoted(text: object) -> str:
    """Return a literal; a text is in double quotes unless it contains some."""
    written = repr(text)
    if not written.startswith("'") or '"' in written:
        return written
    return '"' + written[1:-1] + '"'


def _body(code: str, width: int) -> str:
    """Format statements; Alembic indents all of them but the first."""
    block = ast.parse(f"if True:\n    {code}").body[0]
    return "\n".join(_statements(block.body, "    ", width))  # type: ignore[attr-defined]


def _statements(nodes: Iterable[ast.stmt], indent: str, width: int) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if isinstance(node, ast.With):
            [item] = node.items
            name = f" as {ast.unparse(item.optional_vars)}" if item.optional_vars else ""
            lines += [f"{indent}with {_expression(item.context_expr)}{name}:"]
            lines += [*_statements(node.body, indent + "    ", width), ""]
        elif isinstance(node, ast.Expr):
            lines.append(indent + _fitted(node.value, indent, width))
        else:
            lines.append(indent + ast.unparse(node))
    while lines and not lines[-1]:
        del lines[-1]
    return lines


def _fitted(node: ast.expr, indent: str, width: int, before: int = 0, after: int = 0) -> str:
    """Return an expression on one line, or on several if it is too long."""
    line = _expression(node)
    parts: Sequence[ast.expr | ast.keyword]
    if len(indent) + before + len(line) + after <= width:
        return line
    if isinstance(node, ast.IfExp):
        body, test, otherwise = map(_expression, (node.body, node.test, node.orelse))
        return f"{body}\n{indent}if {test}\n{indent}else {otherwise}"
    if isinstance(node, ast.Call):
        start, parts, end = f"{_expression(node.func)}(", _arguments(node), ")"
    elif isinstance(node, ast.List):
        start, parts, end = "[", [*node.elts], "]"
    else:
        return line
    if not parts:
        return line
    inner = indent + "    "
    together = _parts(parts)
    if len(inner) + len(together) <= width:
        return f"{start}\n{inner}{together}\n{indent}{end}"
    lines = "".join(f"{inner}{_fitted_part(part, inner, width)},\n" for part in parts)
    return f"{start}\n{lines}{indent}{end}"


def _fitted_part(part: ast.expr | ast.keyword, indent: str, width: int) -> str:
    if isinstance(part, ast.keyword):
        name = f"{part.arg}="
        return name + _fitted(part.value, indent, width, before=len(name), after=1)
    return _fitted(part, indent, width, after=1)


def _parts(parts: Iterable[ast.expr | ast.keyword]) -> str:
    return ", ".join(map(_part, parts))


def _arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """Return the arguments of a call, without `schema=None`, which Alembic always writes."""
    named = [keyword for keyword in call.keywords if ast.unparse(keyword) != "schema=None"]
    return [*call.args, *named]


def _part(part: ast.expr | ast.keyword) -> str:
    if isinstance(part, ast.keyword):
        return f"{part.arg}={_expression(part.value)}"
    return _expression(part)


def _expression(node: ast.expr) -> str:
    """Return an expression on one line, with double quotes."""
    match node:
        case ast.Constant():
            return _quoted(node.value)
        case ast.Call():
            return f"{_expression(node.func)}({_parts(_arguments(node))})"
        case ast.Attribute():
            return f"{_expression(node.value)}.{node.attr}"
        case ast.List():
            return f"[{', '.join(map(_expression, node.elts))}]"
        case ast.Tuple():
            return f"({', '.join(map(_expression, node.elts))})"
        case ast.IfExp():
            parts = map(_expression, (node.body, node.test, node.orelse))
            return "{} if {} else {}".format(*parts)
        case ast.Compare(ops=[ast.Eq()], comparators=[right]):
            return f"{_expression(node.left)} == {_expression(right)}"
        case _:
            return ast.unparse(node)
