"""Signed URLs of files, which browsers read without an access token."""

from collections.abc import Sequence
from hashlib import blake2b, sha256
from hmac import compare_digest
from time import time
from urllib.parse import quote

from app.database.columns import StoredFile
from app.ids import Id
from app.storage.errors import InvalidSignature

#: Seconds for which the URL of a file is valid; at least half of them are left when it is given.
URL_LIFETIME = 600
# Seconds in which the URL of a file stays the same, so that browsers keep what they have read.
STEP = URL_LIFETIME // 2
# The last part of the path.
SIGNED = "signed"
# Maximum digits of the time in a URL.
MAX_DIGITS = 12
SIGNATURE_BYTES = 16


class UrlSigner:
    """Signs the URLs of one property's files; `path` is that of the collection."""

    def __init__(self, keys: Sequence[str], path: str, property_name: str) -> None:
        self._path, self._property = path, property_name
        # BLAKE2 with a key is a MAC (RFC 7693, 2.9), and takes half the time of HMAC: a list has
        # hundreds of URLs. Its key has 64 bytes at most.
        self._macs = [
            blake2b(
                f"file {path} {property_name} ".encode(),
                key=sha256(key.encode()).digest(),
                digest_size=SIGNATURE_BYTES,
            )
            for key in keys
        ]

    def url_of(self, row_id: Id, file: StoredFile) -> str:
        """Return the URL of a row's file, from the root of the service."""
        expires = int(time()) // STEP * STEP + URL_LIFETIME
        [signature, *_] = self._signatures(row_id, file, expires)
        id_ = row_id if isinstance(row_id, int) else quote(str(row_id), safe="")
        place = f"{self._path}/{id_}/{self._property}/{SIGNED}"
        return f"{place}?expires={expires}&signature={signature}"

    def check(self, row_id: Id, file: StoredFile, expires: str, signature: str) -> None:
        """Raise InvalidSignature unless a URL is of this file, and has not expired."""
        valid = self._signatures(row_id, file, read_time(expires))
        if not signature.isascii() or not any(compare_digest(each, signature) for each in valid):
            raise InvalidSignature()

    def _signatures(self, row_id: Id, file: StoredFile, expires: int) -> list[str]:
        """Return the signatures of a file's URL by all keys."""
        signed = f"{row_id} {file.key} {expires}".encode()
        signatures = []
        for mac in self._macs:
            copied = mac.copy()
            copied.update(signed)
            signatures.append(copied.hexdigest())
        return signatures


def read_time(text: str) -> int:
    """Return the Unix time in a URL; raise InvalidSignature if it is none, or in the past."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise InvalidSignature()
    if int(text) < time():
        raise InvalidSignature()
    return int(text)
