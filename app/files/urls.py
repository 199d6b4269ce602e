"""Signed URLs of files, which browsers read without an access token."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from app.database.columns import StoredFile
from app.ids import Id
from app.storage.errors import InvalidSignature
from app.times import now

#: Seconds for which the URL of a file is valid; at least half of them are left when it is given.
URL_LIFETIME = 600
# Seconds in which the URL of a file stays the same, so that browsers keep what they have read.
STEP = URL_LIFETIME // 2
# The last part of the path.
SIGNED = "signed"
#: Maximum digits of the time in a URL.
MAX_DIGITS = 12


@dataclass(frozen=True)
class UrlSigner:
    """Signs the URLs of one property's files; `path` is that of the collection."""

    keys: Sequence[str]
    path: str
    property_name: str

    def url_of(self, row_id: Id, file: StoredFile) -> str:
        """Return the URL of a row's file, from the root of the service."""
        expires = int(now().timestamp()) // STEP * STEP + URL_LIFETIME
        signature = self._signature(self.keys[0], row_id, file, expires)
        place = f"{self.path}/{quote(str(row_id), safe='')}/{self.property_name}/{SIGNED}"
        return f"{place}?expires={expires}&signature={signature}"

    def check(self, row_id: Id, file: StoredFile | None, expires: str, signature: str) -> None:
        """Raise InvalidSignature unless a URL is of this file, and has not expired."""
        time = read_time(expires)
        if file is None or time < now().timestamp() or not signature.isascii():
            raise InvalidSignature()
        valid = (self._signature(key, row_id, file, time) for key in self.keys)
        if not any(hmac.compare_digest(each, signature) for each in valid):
            raise InvalidSignature()

    def _signature(self, key: str, row_id: Id, file: StoredFile, expires: int) -> str:
        signed = f"file\n{self.path}\n{row_id}\n{self.property_name}\n{file.key}\n{expires}"
        return hmac.digest(key.encode(), signed.encode(), "sha256").hex()


def read_time(text: str) -> int:
    """Return the Unix time in a URL; raise InvalidSignature if it is none, or in the past."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise InvalidSignature()
    if int(text) < now().timestamp():
        raise InvalidSignature()
    return int(text)
