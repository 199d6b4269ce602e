"""Entity tags, and preconditions of requests: RFC 9110, 8.8.3 and 13."""

from dataclasses import dataclass
from hashlib import blake2b

from flask import request
from werkzeug.datastructures import ETags
from werkzeug.exceptions import BadRequest
from werkzeug.http import parse_etags

from app.errors import PreconditionFailed

#: Maximum characters of `If-Match` and `If-None-Match`: some 25 tags.
MAX_LENGTH = 1000
TOO_LONG = f"{{}} has more than {MAX_LENGTH} characters."
IF_MATCH, IF_NONE_MATCH = "If-Match", "If-None-Match"
READS = ("GET", "HEAD")


def entity_tag(content: bytes) -> str:
    """Return the entity tag of this content, without the quotes of the header."""
    return blake2b(content, digest_size=16).hexdigest()


def is_known(tag: str) -> bool:
    """Return True if a read should be answered with 304, because the client has the content.

    Raises BadRequest for too many tags.
    """
    environ = request.environ
    if "HTTP_IF_NONE_MATCH" not in environ or environ["REQUEST_METHOD"] not in READS:
        return False
    return _parse(IF_NONE_MATCH, environ["HTTP_IF_NONE_MATCH"]).contains_weak(tag)


@dataclass(frozen=True)
class Preconditions:
    """The tags in each header of a change; None without such a header."""

    match: ETags | None
    none_match: ETags | None

    def check(self, tag: str | None) -> None:
        """Raise PreconditionFailed unless the preconditions permit changing content with this tag.

        None stands for a row that does not exist.
        """
        if self.match is not None and (tag is None or tag not in self.match):
            raise PreconditionFailed(IF_MATCH)
        if self.none_match is not None and tag and self.none_match.contains_weak(tag):
            raise PreconditionFailed(IF_NONE_MATCH)


def read_preconditions() -> Preconditions | None:
    """Return the preconditions of a change, or None; raise BadRequest for too many tags."""
    given = [request.environ.get(key) for key in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")]
    if given == [None, None]:
        return None
    names = (IF_MATCH, IF_NONE_MATCH)
    pairs = zip(names, given, strict=True)
    return Preconditions(*(None if text is None else _parse(name, text) for name, text in pairs))


def _parse(name: str, text: str) -> ETags:
    if len(text) > MAX_LENGTH:
        raise BadRequest(TOO_LONG.format(name))
    return parse_etags(text)
