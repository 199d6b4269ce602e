"""A Python file of a project: its functions, with the imports that they need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.printing import printable

from .javascript import masked_source
from .names import Names
from .python import WIDTH, comment, function_name, literal

STUBS = ("hook_stub", "method_stub", "role_stub", "route_stub")
# Names that a file defines itself, or imports.
TAKEN = {
    *("extend", "init_app", "fields", "get_resource", "has_request_context", "marshmallow", "now"),
    *("resource", "select", *STUBS),
}
# The names that a file may import from each module, with the text in which it uses them.
STANDARD = (("typing", {"Any": "Any"}),)
LIBRARIES = (
    ("flask", {"has_request_context": "has_request_context("}),
    ("sqlalchemy", {"select": "select("}),
)
PUBLIC = (
    ("ostiary", {"fields": "(fields.Schema)"}),
    ("ostiary.columns", {"now": "now()"}),
    ("ostiary.errors", {"AuthorizationRequired": "AuthorizationRequired("}),
    ("ostiary.loopback", {name: f"@{name}(" for name in STUBS}),
    ("ostiary.resources", {"Resource": "Resource)", "get_resource": "get_resource("}),
    (
        "ostiary.rules",
        {
            **{name: f"permits={name}," for name in ("AUTHENTICATED", "EVERYONE")},
            **{name: f", {name}, " for name in ("EXECUTE", "READ", "WRITE")},
        },
    ),
)


@dataclass
class Code:
    """The Python of one file: its functions, and the lines of its function `extend`."""

    application: Application
    # The model beside whose JSON the file is, or None.
    model: Model | None
    # The names of methods that are served by another one.
    other_names: Names = field(default_factory=dict)
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

    def add_stub(
        self,
        decorator: str,
        arguments: Sequence[str],
        signature: str,
        description: str,
        comments: str,
    ) -> None:
        """Add a function that must be written, with comments in place of its body."""
        given = ", ".join(map(literal, arguments))
        self.add_function(f"@{decorator}({given})\ndef {signature}", description, comments)

    def add_function(self, definition: str, description: str, body: str) -> None:
        """Add a function; `definition` is its text before the colon."""
        self.parts.append(f"{definition}:\n    {docstring(description)}\n{body}")

    def javascript(self, finding: Finding) -> str:
        """Return the JavaScript as a comment, with its place."""
        function = finding.function
        node, line = (function.node, function.line) if function else (finding.node, finding.line)
        place = self.application.place(finding.file, line)
        return comment(f"{place}:\n{masked_source(node) if node else finding.source}")

    @property
    def text(self) -> str:
        """The text of the file."""
        body = "\n\n".join(self.parts)
        subject, verb = "the scripts of the application", "do"
        if self.model is not None:
            subject, verb = f"the JavaScript of {self.model.name}", "does"
            first = f"    {docstring(f'Add what {subject} {verb}')}\n"
            extending = "".join(self.extending)
            body += f"\n\ndef extend(resource: Resource) -> None:\n{first}{extending}"
        return f"{docstring(f'What {subject} {verb}')}\n\n{_imports(body)}\n\n{body}"


def _imports(body: str) -> str:
    """Return the imports of the names that a file uses, in ruff's order."""
    code = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("#"))
    libraries = [*_used(LIBRARIES, code)]
    if "marshmallow." in code:
        libraries.insert(0, "import marshmallow\n")
    groups = ("".join(_used(STANDARD, code)), "".join(libraries), "".join(_used(PUBLIC, code)))
    return "\n".join(filter(None, groups))


def _used(modules: Iterable[tuple[str, dict[str, str]]], code: str) -> Iterable[str]:
    for module, names in modules:
        if used := [name for name, use in names.items() if use in code]:
            yield f"from {module} import {', '.join(used)}\n"


def docstring(text: str) -> str:
    """Return one line as a docstring."""
    words = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    words = printable(words)[: WIDTH - 20].rstrip(" .'")
    return f'"""{words[:1].upper()}{words[1:]}."""'
