"""Answers as bytes, read by h11, and their header fields by gunicorn, as strict clients do."""

from dataclasses import dataclass

import h11
from gunicorn.config import Config
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

CLIENT = ("127.0.0.1", 1)
END = b"\r\n\r\n"


@dataclass
class Answer:
    """An answer; the names of its fields are in small letters."""

    status: int
    fields: dict[str, str]
    body: bytes = b""


def read_answers(received: bytes, *verbs: str) -> list[Answer]:
    """Return the answers to requests with these verbs, after which the server closed.

    Raises h11.RemoteProtocolError or ParseException for what is not HTTP. Answers of 1xx are left
    out.
    """
    answers = []
    for verb in verbs:
        answer, received = _read(received, verb)
        answers.append(answer)
    assert not received, f"{received[:80]!r} follows the last answer"
    return answers


def read_answer(received: bytes, verb: str = "GET") -> Answer:
    """Return the one answer of a connection, as `read_answers` does."""
    [answer] = read_answers(received, verb)
    return answer


def _read(received: bytes, verb: str) -> tuple[Answer, bytes]:
    """Return the first answer, and what follows it."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=verb, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(received)
    client.receive_data(b"")
    while isinstance(event := client.next_event(), h11.InformationalResponse):
        _, _, received = received.partition(END)
    assert isinstance(event, h11.Response), event
    answer = Answer(event.status_code, _fields(received.partition(END)[0]))
    while isinstance(event := client.next_event(), h11.Data):
        answer.body += event.data
    assert isinstance(event, h11.EndOfMessage), event
    return answer, client.trailing_data[0]


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of an answer's head, read by gunicorn as those of a request.

    h11 takes a second `Content-Length` that equals the first one; gunicorn takes none.
    """
    _, _, fields = head.partition(b"\r\n")
    request = Request(Config(), IterUnreader([b"POST / HTTP/1.1\r\n" + fields + END]), CLIENT)
    return {name.lower(): value for name, value in request.headers}
