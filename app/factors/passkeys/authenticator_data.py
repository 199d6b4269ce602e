"""Checks of authenticators' data before the library parses it.

Imported only if passkeys are switched on, because a library of the extra reads CBOR.
"""

from collections import defaultdict
from io import BytesIO
from typing import Any, NoReturn

from cbor2 import CBORDecoder

# Bytes of authenticator data before its keys and extensions (WebAuthn, 6.1), and of attested
# credential data before the credential id, whose length is in the last two of these bytes (6.5.1).
HEAD, ATTESTED_HEAD = 37, 18
FLAGS, HAS_CREDENTIAL = 32, 0x40


def check_attestation_object(data: bytes) -> None:
    """Raise ValueError for an attestation that takes too long to parse."""
    [attestation] = _decode_all(data)
    check_authenticator_data(attestation["authData"])


def check_authenticator_data(data: bytes) -> None:
    """Raise ValueError for authenticator data that takes too long to parse."""
    start = HEAD
    if data[FLAGS] & HAS_CREDENTIAL:
        start += ATTESTED_HEAD
        start += int.from_bytes(data[start - 2 : start], "big")
    _decode_all(data[start:])


def _decode_all(data: bytes) -> list[Any]:
    """Return the values of a sequence of CBOR (RFC 8742) without tags (CTAP2, 8).

    With tags, one value can occur in several places. The library writes out all that it has read,
    so 200 bytes could take minutes.
    """
    stream = BytesIO(data)
    decoder = CBORDecoder(stream, semantic_decoders=defaultdict(lambda: _refuse))
    values = []
    while stream.tell() < len(data):
        values.append(decoder.decode())
    return values


def _refuse(*_: object) -> NoReturn:
    raise ValueError("a tag")
