"""The comparison of two services: suggested and recorded calls, by each caller."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from typing import Any

from app.problems import ConfigurationError

from .answers import Answer, NoAnswerError, Service
from .callers import ANONYMOUS, Caller, headers
from .calls import Call, encoded
from .differences import differences
from .documented import Context, included_relation
from .kinds import (
    ADDED_ROW,
    ADMIN,
    ALLOWED,
    HIDDEN_USER,
    INCLUDED,
    MISSING_ROW,
    NO_ANSWER,
    OTHER_PAGE,
    Difference,
    Row,
)
from .operations import Document
from .rate import Rate
from .report import Report
from .suggestions import Seen, note_rows, rows_in, suggested_calls

#: Maximum bytes of the OpenAPI document of a compared service.
MAX_DOCUMENT = 32 * 1024 * 1024
#: Maximum rows that a comparison remembers as existing at the new service.
MAX_PRESENT = 10_000

# The query of a call that reads a row of a list.
ONE_ROW = "?filter=%7B%22limit%22%3A1%7D"

Headers = Mapping[str, str]


def read_document(new: Service) -> Document:
    """Return the OpenAPI document of the new service; raise ConfigurationError."""
    try:
        answer = new.send("GET", "/openapi.json", headers(None), MAX_DOCUMENT)
    except NoAnswerError as error:
        raise ConfigurationError(f"the new service does not answer: {error}") from None
    if answer.status != 200 or answer.json is None:
        raise ConfigurationError(
            f"the new service has no openapi.json below {new.root or '/'}, but answers"
            f" {answer.status}: --new is the address of its API, such as http://127.0.0.1:3000/api"
        )
    return Document(answer.json.value)


@dataclass
class Comparison:
    """Two services, and the report of how their answers to the same calls differ."""

    old: Service
    new: Service
    document: Document
    rate: Rate
    report: Report
    # The callers for whom the new service is asked for a row that another caller does not get.
    callers: Sequence[Caller] = (ANONYMOUS,)
    _seen: Seen = field(default_factory=Seen)
    # Paths of rows that the new service has.
    _present: set[str] = field(default_factory=set)

    def run(self, caller: Caller, recorded: Sequence[Call]) -> None:
        """Make all calls as one caller."""
        for call in self._calls(recorded):
            answer = self._compare(call, caller)
            if answer:
                note_rows(self.document, call, answer, self._seen)

    def _calls(self, recorded: Sequence[Call]) -> Iterator[Call]:
        yield from suggested_calls(self.document, self._seen)
        yield from recorded

    def _compare(self, call: Call, caller: Caller) -> Answer | None:
        """Make a call to both services; return the old answer, whose rows later calls use."""
        self.rate.wait()
        old = answer_of(self.old, call, caller.old)
        new = answer_of(self.new, call, caller.new)
        self.report.add(call, caller.name, self.found(call, old, new, headers(caller.new)))
        return old

    def found(
        self, call: Call, old: Answer | None, new: Answer | None, sent: Headers
    ) -> list[Difference]:
        """Return how two answers differ; None is a service that did not answer.

        `sent` are the headers of the call to the new service, which is asked for the rows that it
        left out: those that it does not have are missing rows.
        """
        if old is None or new is None:
            return [Difference(NO_ANSWER, "", _has_answered(old), _has_answered(new))]
        context = self.document.context(call)
        return [
            self._checked(difference, context, sent, rows_in(new))
            for difference in differences(call, old, new, context)
        ]

    def _checked(
        self, difference: Difference, context: Context, sent: Headers, rows: Sequence[Row]
    ) -> Difference:
        """Return a difference without its rows.

        It is of the kind MISSING_ROW if they do not exist, of the kind ALLOWED if the caller is no
        administrator, and of the kind ADDED_ROW if the old service does not relate them.
        """
        kind = difference.kind
        if kind is OTHER_PAGE and not self._has_rows(difference, context, sent):
            kind = MISSING_ROW
        # The ids of users of different models differ.
        if kind is HIDDEN_USER and not any(
            self._hides(difference, path, sent) for path in context.users_paths
        ):
            kind = MISSING_ROW
        if kind is ADMIN and not self._is_admin(context, sent):
            kind = ALLOWED
        if kind is INCLUDED and not self._relates(difference, context, sent, rows):
            kind = ADDED_ROW
        return difference._replace(kind=kind, old_rows=(), new_rows=())

    def _is_admin(self, context: Context, sent: Headers) -> bool:
        path = context.admins_path
        return path is not None and self._answers(path, sent)

    def _relates(
        self, difference: Difference, context: Context, sent: Headers, rows: Sequence[Row]
    ) -> bool:
        """Return True if the old service has the included rows in calls of their relation."""
        relation = included_relation(difference.place)
        including = [row for row in rows if row.get(relation)]
        return context.list_path is not None and all(
            self._has_related(f"{path}/{relation}", row[relation], sent)
            for row, path in zip(
                including, _paths(including, context.list_path, context.id_name), strict=True
            )
        )

    def _has_related(self, target: str, included: Any, sent: Headers) -> bool:
        """Return True if the old service has as many rows of a relation for the caller."""
        # The caller may have another token there.
        tokens = {headers(each.new).get("Authorization"): each.old for each in self.callers}
        token = sent.get("Authorization")
        own = headers(tokens[token]) if token in tokens else sent
        self.rate.wait()
        try:
            related = list(filter(None, rows_in(self.old.send("GET", target, own))))
        except NoAnswerError:
            return False
        return len(related) >= (len(included) if isinstance(included, list) else 1)

    def _has_rows(self, difference: Difference, context: Context, sent: Headers) -> bool:
        """Return True if the new service has the rows of a list that an answer leaves out."""
        path = context.list_path
        return path is not None and all(
            self._is_present(row, sent)
            for row in _paths(difference.old_rows, path, context.id_name)
        )

    def _hides(self, difference: Difference, path: str, sent: Headers) -> bool:
        """Return True if the new service has the users of a list whom the caller may not read."""
        users = _paths(difference.old_rows, path, "id")
        # A list of users requires the permission to list them.
        hidden = [f"{path}{ONE_ROW}"] if difference.place.endswith("[]") else users
        return all(map(self._is_present, users)) and not any(
            self._answers(target, sent) for target in hidden
        )

    def _is_present(self, path: str, *sent: Headers) -> bool:
        """Return True if a call with these headers, or of one of the callers, reads a row."""
        if path in self._present:
            return True
        asked = chain(sent, (headers(each.new) for each in self.callers))
        is_present = any(self._answers(path, each) for each in asked)
        if is_present and len(self._present) < MAX_PRESENT:
            self._present.add(path)
        return is_present

    def _answers(self, target: str, sent: Headers) -> bool:
        """Return True if the new service answers a GET with 200."""
        self.rate.wait()
        try:
            return self.new.send("GET", target, sent).status == HTTPStatus.OK
        except NoAnswerError:
            return False


def answer_of(service: Service, call: Call, token: str | None) -> Answer | None:
    """Return the answer of a service, or None if it does not answer."""
    try:
        return service.send(call.verb, call.target, headers(token))
    except NoAnswerError:
        return None


def _paths(rows: Sequence[Row], path: str, id_name: str) -> list[str]:
    """Return the paths of rows below that of their list."""
    return [f"{path}/{encoded(row.get(id_name))}" for row in rows]


def _has_answered(answer: Answer | None) -> str:
    return "no answer" if answer is None else str(answer.status)
