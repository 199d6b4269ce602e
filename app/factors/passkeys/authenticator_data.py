"""Checks of what authenticators send, before the library parses it.

Imported only where passkeys are switched on, as CBOR is read by a library of the extra.
"""

from collections import defaultdict
from io import BytesIO
from typing import Any, NoReturn

from cbor2 import CBORDecoder

# Bytes of authenticator data before its keys and extensions (WebAuthn, 6.1), and of attested
# credential data before the id of the credential, whose length its last two bytes are (6.5.1).
HEAD, ATTESTED_HEAD = 37, 18
FLAGS, HAS_CREDENTIAL = 32, 0x40


def check_attestation_object(data: bytes) -> None:
    """Raise ValueError for an attestation that cannot be parsed in time proportional to it."""
    [attestation] = _decode_all(data)
    check_authenticator_data(attestation["authData"])


def check_authenticator_data(data: bytes) -> None:
    """Raise ValueError for authenticator data as `check_attestation_object` does."""
    start = HEAD
    if data[FLAGS] & HAS_CREDENTIAL:
        start += ATTESTED_HEAD
        start += int.from_bytes(data[start - 2 : start], "big")
    _decode_all(data[start:])


def _decode_all(data: bytes) -> list[Any]:
    """Return the values of a sequence of CBOR (RFC 8742), which has no tags (CTAP2, 8).

    Tags let one value stand in several places. The library writes out what it has read, so that 200
    bytes could take minutes.
    """
    stream = BytesIO(data)
    decoder = CBORDecoder(stream, semantic_decoders=defaultdict(lambda: _refuse))
    values = []
    while stream.tell() < len(data):
        values.append(decoder.decode())
    return values


def _refuse(*_: Any) -> NoReturn:
    raise ValueError("a tag")
