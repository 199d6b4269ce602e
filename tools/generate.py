"""Write the tables in `docs/` that follow from the code: `python -m tools.generate`.

A table stands between `<!-- table: name -->` and `<!-- end -->`, links to the sections of the page
between `<!-- contents -->` and `<!-- end -->`, and those to their subsections, sorted, between
`<!-- index -->` and `<!-- end -->`; the text around them is written by hand.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import marshmallow
from marshmallow import fields, validate
from prometheus_client import Gauge
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app import error_responses, errors
from app.admin.setup import calls
from app.audit.entries import Action
from app.batch.errors import InvalidBatch
from app.changes.errors import InvalidChangeStream
from app.idempotency import errors as idempotency_errors
from app.mail.subscribers import MAILS
from app.metrics.catalog import Catalog, database_up, job_gauges, outbox_gauges
from app.rest.endpoint import Route
from app.settings import (
    PasskeysSchema,
    PasswordHashSchema,
    PersonalTokensSchema,
    SecondFactorField,
    SettingsSchema,
    ThrottlesSchema,
    TokenMiddlewareSchema,
)
from app.users.resource import users
from app.users.views import accounts

from . import compatibility, distributed
from . import connector_tables as connector
from .differences import DIFFERENCES
from .limits import limits
from .reference import reference

FOLDER = Path(__file__).parents[1] / "docs"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
LINKS = re.compile(r"(<!-- (contents|index) -->\n).*?(<!-- end -->)", re.DOTALL)
HEADING, SUBHEADING = (re.compile(f"^{mark} (.*)$", re.MULTILINE) for mark in ("##", "###"))

# Werkzeug's errors that the service answers with.
HTTP_ERRORS: dict[type[HTTPException], str] = {
    exceptions.BadRequest: "The request is not valid HTTP, or a value does not fit its column.",
    exceptions.NotFound: "No endpoint has this path.",
    exceptions.MethodNotAllowed: "The path has no endpoint for this verb.",
    exceptions.Conflict: "The change conflicts with one made at the same time, a row that is to be"
    " deleted has rows that refer to it, or `upsertWithWhere` finds several rows.",
    exceptions.RequestEntityTooLarge: "The body is larger than `MAX_BODY_BYTES`.",
    exceptions.RequestURITooLarge: "The request line is too long.",
    exceptions.UnsupportedMediaType: "The body is neither JSON nor a form.",
    exceptions.ExpectationFailed: "The header `Expect` asks for something unknown.",
    exceptions.RequestHeaderFieldsTooLarge: "The header fields are too many or too long.",
    exceptions.InternalServerError: "The service failed.",
    exceptions.NotImplemented: "The transfer coding of the body is unknown.",
    exceptions.ServiceUnavailable: "The database failed or cannot be reached.",
}

TYPES: dict[type[fields.Field[Any]], str] = {
    fields.Boolean: "boolean",
    fields.Integer: "integer",
    fields.Float: "number",
    fields.List: "list of text",
    fields.Dict: "object",
    fields.Nested: "object",
    fields.String: "text",
    SecondFactorField: "text or list of text",
}


def fill(page: str) -> str:
    """Return a page with its tables generated from the code, and lists of its headings."""
    page = TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)
    links = {
        "contents": _links(HEADING.findall(page)),
        "index": _links(
            sorted(set(SUBHEADING.findall(page)), key=lambda name: (name.lower(), name))
        ),
    }
    return LINKS.sub(lambda found: f"{found[1]}{links[found[2]]}\n{found[3]}", page)


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _links(headings: Sequence[str]) -> str:
    return " · ".join(f"[{heading}](#{anchor_of(heading)})" for heading in headings)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


def _entries(schema: marshmallow.Schema) -> Iterator[list[str]]:
    for name, field in schema.fields.items():
        yield [f"`{name}`", _type(field), f"`{_default(field)}`", field.metadata["description"]]


def settings(schema: marshmallow.Schema) -> str:
    """Return the table of a schema of settings."""
    return _table(("Name", "Type", "Default", "Meaning"), list(_entries(schema)))


def _default(field: fields.Field[Any]) -> str:
    default = field.load_default
    return json.dumps(default() if callable(default) else default)


def _type(field: fields.Field[Any]) -> str:
    name = next(name for kind, name in TYPES.items() if isinstance(field, kind))
    words = [name, *filter(None, map(_bounds, field.validators))]
    return ", ".join(words) + (" or `null`" if field.allow_none else "")


def _bounds(validator: object) -> str:
    """Return the limits of a validator; empty if the description has them."""
    if isinstance(validator, validate.OneOf):
        return f"one of {', '.join(map(str, validator.choices))}"
    if not isinstance(validator, validate.Range):
        return ""
    if validator.max is not None:
        return f"{validator.min} to {validator.max}"
    return f"{validator.min} or more" if validator.min_inclusive else f"more than {validator.min}"


def own_errors() -> str:
    """Return the table of the errors of the service, of batches and of keys."""
    kinds: list[Any] = [
        kind
        for kind in (
            *vars(errors).values(),
            InvalidBatch,
            InvalidChangeStream,
            *vars(idempotency_errors).values(),
        )
        if isinstance(kind, type) and hasattr(kind, "error_code")
    ]
    rows = [
        (kind.code, f"`{kind.error_code}`", (kind.__doc__ or "").splitlines()[0])
        for kind in sorted(kinds, key=lambda kind: kind.code)
    ]
    return _table(("Status", "Code", "Meaning"), rows)


def http_errors() -> str:
    """Return the table of the errors whose code is the name of their status."""
    rows = [(kind.code, _http_code(kind), text) for kind, text in HTTP_ERRORS.items()]
    return _table(("Status", "Code", "Meaning"), rows)


def _http_code(kind: type[HTTPException]) -> str:
    code = error_responses.error_body(kind())["error"].get("code")
    return f"`{code}`" if code else "none"


def field_codes() -> str:
    """Return the table of the codes in `error.details.codes`."""
    rows = [(f"`{code}`", text) for text, code in errors.CODES.items()]
    return _table(("Code", "Message"), [*rows, ("`invalid`", "any other")])


def loopback_differences() -> str:
    """Return the table of the connector's differences from LoopBack 3."""
    return _table(("LoopBack 3", "Ostiary", "Reason"), list(DIFFERENCES.values()))


def compared(calls: Sequence[compatibility.Call]) -> str:
    """Return the table of calls with and without COMPATIBILITY."""
    head = ("What", "Call", "Without", "With `loopback3`")
    return _table(head, [compatibility.row(call) for call in calls])


def audit_actions() -> str:
    """Return the table of the audit log's actions."""
    return _table(("Action", "Meaning"), [(f"`{action}`", action.description) for action in Action])


def admin_calls() -> str:
    """Return the table of the admin calls: their routes, methods and summaries."""
    own = [("admin", endpoint) for endpoint in calls]
    of_users = [
        ("users", endpoint)
        for endpoint in users.own_endpoints
        if endpoint.is_served is accounts.serves_administration
    ]
    rows = [
        (f"`{_path(model, endpoint.routes[0])}`", f"`{endpoint.method}`", endpoint.summary)
        for model, endpoint in [*own, *of_users]
    ]
    return _table(("Call", "Method", "What it does"), rows)


def _path(model: str, route: Route) -> str:
    path = re.sub(r"<(\w+)>", r"{\1}", route.path)
    return f"{route.verb} /{model}{path}"


def mails() -> str:
    """Return the table of the mails that follow events."""
    rows = [
        (f"`{mail.setting}`", f"`{mail.event}`", (mail.send.__doc__ or "").splitlines()[0])
        for mail in MAILS
    ]
    return _table(("Setting", "Event", "Mail"), rows)


def metrics() -> str:
    """Return the table of the Prometheus metrics."""
    kept = [
        (("process",) if isinstance(metric, Gauge) else metric._labelnames, *metric.describe())
        for metric in vars(Catalog()).values()
    ]
    stored = (*outbox_gauges(0, 0), *job_gauges({}), database_up(True))
    read = [(metric._labelnames, metric) for metric in stored]
    rows = [
        (
            f"`{metric.name}{'_total' if metric.type == 'counter' else ''}`",
            metric.type,
            ", ".join(f"`{name}`" for name in labels),
            metric.documentation,
        )
        for labels, metric in [*kept, *read]
    ]
    return _table(("Metric", "Type", "Labels", "Meaning"), rows)


def limits_of(package: str) -> str:
    """Return the table of the limits that are constants in the code of a package."""
    rows = [
        (limit.meaning, _value(limit.value), f"`{limit.file}` `{limit.name}`")
        for limit in limits(package)
    ]
    return _table(("Limit", "Value", "Where"), rows)


def _value(value: float) -> str:
    return f"{value:,}".removesuffix(".0")


TABLES: dict[str, Callable[[], str]] = {
    "settings": lambda: settings(SettingsSchema()),
    "token_middleware": lambda: settings(TokenMiddlewareSchema()),
    "password_hash": lambda: settings(PasswordHashSchema()),
    "passkeys": lambda: settings(PasskeysSchema()),
    "personal_tokens": lambda: settings(PersonalTokensSchema()),
    "throttles": lambda: settings(ThrottlesSchema()),
    "own_errors": own_errors,
    "http_errors": http_errors,
    "field_codes": field_codes,
    "distributed": lambda: _table(distributed.COLUMNS, [need.row() for need in distributed.NEEDS]),
    "connector_source": lambda: _table(connector.KEY_COLUMNS, connector.source_keys()),
    "connector_template": lambda: _table(connector.KEY_COLUMNS, connector.template_keys()),
    "connector_variable": lambda: _table(connector.KEY_COLUMNS, connector.variable_keys()),
    "connector_options": lambda: _table(connector.KEY_COLUMNS, connector.options()),
    "connector_auth": lambda: _table(connector.KEY_COLUMNS, connector.auth_keys()),
    "connector_paginate": lambda: _table(connector.KEY_COLUMNS, connector.paginate_keys()),
    "connector_errors": lambda: _table(("Class", "Base", "`kind`", "Meaning"), connector.errors()),
    "loopback_differences": loopback_differences,
    "compatibility": lambda: compared(compatibility.DIFFERENT),
    "incompatibility": lambda: compared(compatibility.ALIKE),
    "looser": lambda: _table(
        ("LoopBack 3 refuses", "Ostiary", "Reason"), list(compatibility.LOOSER.values())
    ),
    "admin_calls": admin_calls,
    "audit_actions": audit_actions,
    "mails": mails,
    "metrics": metrics,
    "limits": lambda: limits_of("app"),
    "importer_limits": lambda: limits_of("ostiary_loopback"),
    "reference": reference,
}

if __name__ == "__main__":
    for path in FOLDER.glob("*.md"):
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
