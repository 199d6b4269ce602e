"""Writing a client: one file of TypeScript, from the document of a service."""

from . import errors, runtime
from .document import Document, Part
from .endpoints import Endpoints
from .layout import line
from .models import Models
from .names import Names, comment, key, quoted

HEAD = """\
// The API of {title}, typed. Written by `ostiary client typescript`: write it again after a change
// of the models, in place of changing it.
"""
# What the written file declares itself.
OWN_NAMES = ("Client", "Calls", "Collections", "T")
BATCH = """\
  /** Make all calls of a function in one transaction: all of them, or none. */
  batch<const R extends readonly Promise<unknown>[]>(
    build: (calls: Calls) => R,
  ): Promise<{ -readonly [N in keyof R]: Awaited<R[N]> }>;"""


def write_client(content: Part) -> str:
    """Return the client of the service that a document describes."""
    document = Document(content)
    operations = list(document.operations())
    names = Names({*runtime.taken_names(), *OWN_NAMES})
    models = Models(document, operations, names)
    endpoints = Endpoints(document, operations, models, names)
    calls = list(endpoints.written())
    parts = [
        errors.written(document, operations, models.types),
        *models.written(),
        # Those that the others use.
        *models.types.written(),
        *calls,
        _client(document),
        endpoints.table(),
        _creation(document),
    ]
    head = HEAD.format(title=comment(document.title))
    return "\n".join([head, runtime.text(), *("\n".join([*part, ""]) for part in parts)])


def _client(document: Document) -> list[str]:
    lines = ["export interface Client extends ClientBase, Calls {"]
    if document.has_batch:
        lines += BATCH.splitlines()
    if document.logins:
        providers = " | ".join(map(quoted, sorted(document.logins)))
        lines += [
            "  /** Return the address that a browser opens to log in by a provider. */",
            *line(f"loginUrl(provider: {providers}): string;", "  "),
        ]
    return [*lines, "}"]


def _creation(document: Document) -> list[str]:
    logins = ", ".join(
        f"{key(name)}: {quoted(path)}" for name, path in sorted(document.logins.items())
    )
    arguments = f"options, COLLECTIONS, {{ {logins} }}" if logins else "options, COLLECTIONS"
    return [
        "/** Return a client of the service at an address. */",
        "export function createClient(options: ClientOptions): Client {",
        f"  return makeClient({arguments}) as Client;",
        "}",
    ]
