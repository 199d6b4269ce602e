"""Writing a client: its parts, from the document of a service, in TypeScript and in JavaScript."""

from dataclasses import dataclass

from . import errors, runtime
from .document import Document, Part
from .endpoints import Endpoints
from .layout import line
from .models import Models
from .names import Names, comment, key, quoted

HEAD = """\
// The API of {title}. Written by `ostiary client {language}`: after a change of the models,
// write it again in place of changing it.
"""
# What the written file declares itself, and what only it uses.
OWN_NAMES = ("Awaited", "Client", "Calls", "T")
CREATION = "/** Return a client of the service at an address. */"
BATCH = """\
  /** Make all calls of a function in one transaction: all of them, or none. */
  batch<const R extends readonly Promise<unknown>[]>(
    build: (calls: Calls) => R,
    options?: CallOptions,
  ): Promise<{ -readonly [N in keyof R]: Awaited<R[N]> }>;"""
LOGIN = "  /** Return the address that a browser opens to log in by a provider. */"


@dataclass(frozen=True)
class Client:
    """The parts of a client that differ between services."""

    title: str
    # The declarations of types, and the entries of the table that calls are made from.
    types: list[list[str]]
    table: list[str]
    # The arguments after the options, from which the client is made.
    arguments: str
    # The files that are the same for all services, without their suffix.
    files: tuple[str, ...]

    @classmethod
    def of(cls, content: Part) -> "Client":
        """Return the client of the service that a document describes."""
        document = Document(content)
        operations = list(document.operations())
        names = Names({*runtime.taken_names(), *OWN_NAMES})
        models = Models(document, operations, names)
        endpoints = Endpoints(document, operations, models, names)
        calls = list(endpoints.written())
        types = [
            errors.written(document, operations, models.types),
            *models.written(),
            # Those that the others use.
            *models.types.written(),
            *calls,
            _client_type(document),
        ]
        arguments = ", ".join(["COLLECTIONS", *_features(document)])
        files = ("runtime", "changes") if endpoints.has_changes else ("runtime",)
        return cls(comment(document.title), types, endpoints.table(), arguments, files)

    def typescript(self) -> str:
        """Return the client as one file of TypeScript."""
        table = ["const COLLECTIONS: Record<string, CollectionCalls> = {", *self.table]
        creation = [
            CREATION,
            "export function createClient(options: ClientOptions): Client {",
            f"  return makeClient(options, {self.arguments}) as Client;",
            "}",
        ]
        texts = [runtime.text(f"{file}.ts") for file in (*self.files, "filters")]
        return self._join("typescript", texts, [*self.types, table, creation])

    def javascript(self) -> str:
        """Return the client as a module of JavaScript."""
        creation = [
            CREATION,
            "export function createClient(options) {",
            f"  return makeClient(options, {self.arguments});",
            "}",
        ]
        table = ["const COLLECTIONS = {", *self.table]
        texts = [runtime.text(f"{file}.js") for file in self.files]
        return self._join("javascript", texts, [table, creation])

    def declarations(self) -> str:
        """Return the types of the module of JavaScript."""
        creation = [
            CREATION,
            "export declare function createClient(options: ClientOptions): Client;",
        ]
        texts = [runtime.text("runtime.d.ts"), runtime.text("filters.ts")]
        return self._join("javascript", texts, [*self.types, creation])

    def _join(self, language: str, texts: list[str], parts: list[list[str]]) -> str:
        head = HEAD.format(title=self.title, language=language)
        text = "\n".join([head, *texts, *("\n".join([*part, ""]) for part in parts)])
        # Half a character, which JSON may have, is written as the escape of a literal.
        return text.encode(errors="backslashreplace").decode()


def _features(document: Document) -> list[str]:
    """Return what only some services have, as an argument if there is any."""
    logins = [f"{key(name)}: {quoted(path)}" for name, path in sorted(document.logins.items())]
    features = [f"logins: {{ {', '.join(logins)} }}"] if logins else []
    if document.takes_keys:
        features.append("takesKeys: true")
    return [f"{{ {', '.join(features)} }}"] if features else []


def _client_type(document: Document) -> list[str]:
    lines = ["export interface Client extends ClientBase, Calls {"]
    if document.has_batch:
        lines += BATCH.splitlines()
    if document.logins:
        providers = " | ".join(map(quoted, sorted(document.logins)))
        lines += [LOGIN, *line(f"loginUrl(provider: {providers}): string;", "  ")]
    return [*lines, "}"]
