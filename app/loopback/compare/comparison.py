"""The comparison of two services: suggested and recorded calls, by each caller."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.config import ConfigurationError

from .answers import Answer, NoAnswerError, Service
from .callers import Caller, headers
from .calls import Call
from .differences import Difference, differences
from .kinds import NO_ANSWER
from .rate import Rate
from .report import Report
from .suggestions import Document, Seen

#: Bytes of the OpenAPI document of a service that is compared.
MAX_DOCUMENT = 32 * 1024 * 1024


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
    _seen: Seen = field(default_factory=Seen)

    def run(self, caller: Caller, recorded: Sequence[Call]) -> None:
        """Make all calls as one caller."""
        for call in self._calls(recorded):
            answer = self._compare(call, caller)
            if answer:
                self.document.note(call, answer, self._seen)

    def _calls(self, recorded: Sequence[Call]) -> Iterator[Call]:
        yield from self.document.calls(self._seen)
        yield from recorded

    def _compare(self, call: Call, caller: Caller) -> Answer | None:
        """Make a call to both; return the old answer, with whose rows others are made."""
        self.rate.wait()
        old = answer_of(self.old, call, caller.old)
        new = answer_of(self.new, call, caller.new)
        self.report.add(call, caller.name, self.found(call, old, new))
        return old

    def found(self, call: Call, old: Answer | None, new: Answer | None) -> list[Difference]:
        """Return how two answers differ; None is a service that did not answer."""
        if old is None or new is None:
            return [Difference(NO_ANSWER, "", _has_answered(old), _has_answered(new))]
        return differences(call, old, new, self.document.context(call))


def answer_of(service: Service, call: Call, token: str | None) -> Answer | None:
    """Return the answer of a service, or None if it does not answer."""
    try:
        return service.send(call.verb, call.target, headers(token))
    except NoAnswerError:
        return None


def _has_answered(answer: Answer | None) -> str:
    return "no answer" if answer is None else str(answer.status)
