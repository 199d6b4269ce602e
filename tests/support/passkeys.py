"""An authenticator in software, with the browser around it, as WebAuthn describes them."""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

# Flags of an authenticator's data (WebAuthn, 6.1).
PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, HAS_KEY = 0x01, 0x04, 0x08, 0x10, 0x40
HAS_EXTENSIONS = 0x80

Json = dict[str, Any]


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def creation_options(challenge: bytes, party: str, handle: str) -> Json:
    """Return what of a service's options a new passkey is made of."""
    return {"challenge": encode(challenge), "rp": {"id": party}, "user": {"id": handle}}


def request_options(challenge: bytes, party: str) -> Json:
    """Return what of a service's options is signed."""
    return {"challenge": encode(challenge), "rpId": party}


class Authenticator:
    """A device with one passkey, in a browser whose page is of this origin.

    Its attributes may be changed, to one that lies.
    """

    def __init__(self, origin: str, flags: int = PRESENT | VERIFIED, count: int = 0) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.raw_id = secrets.token_bytes(32)
        self.origin = origin
        self.flags = flags
        self.count = count
        self.handle = ""
        # Whether the page is in a frame of another site.
        self.cross_origin = False
        # Data of extensions, in CBOR.
        self.extensions = b""

    @property
    def id(self) -> str:
        return encode(self.raw_id)

    @property
    def public_key(self) -> str:
        """The key in the form of COSE: ES256, on the curve P-256."""
        numbers = self.key.public_key().public_numbers()
        point = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return encode(cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point[0], -3: point[1]}))

    def make(self, options: Json, format_: str = "none") -> Json:
        """Return what `toJSON()` of a new passkey does."""
        self.handle = options["user"]["id"]
        cose = decode(self.public_key)
        length = len(self.raw_id).to_bytes(2, "big")
        data = (
            self._data(options["rp"]["id"], HAS_KEY)
            + bytes(16)
            + length
            + self.raw_id
            + cose
            + self.extensions
        )
        attestation = {"fmt": format_, "attStmt": {}, "authData": data}
        return self._answer(
            clientDataJSON=encode(self._client_data("webauthn.create", options)),
            attestationObject=encode(cbor2.dumps(attestation)),
            transports=["internal", "hybrid", "telepathy"],
        )

    def sign(self, options: Json) -> Json:
        """Return what `toJSON()` of a login does."""
        self.count += 1 if self.count else 0
        client_data = self._client_data("webauthn.get", options)
        data = self._data(options["rpId"]) + self.extensions
        signed = data + sha256(client_data).digest()
        return self._answer(
            clientDataJSON=encode(client_data),
            authenticatorData=encode(data),
            signature=encode(self.key.sign(signed, ec.ECDSA(hashes.SHA256()))),
            userHandle=self.handle,
        )

    def _client_data(self, type_: str, options: Json) -> bytes:
        told = {"type": type_, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps({**told, "crossOrigin": self.cross_origin}).encode()

    def _data(self, party: str, flags: int = 0) -> bytes:
        flags |= HAS_EXTENSIONS if self.extensions else 0
        head = sha256(party.encode()).digest() + bytes([self.flags | flags])
        return head + self.count.to_bytes(4, "big")

    def _answer(self, **response: Any) -> Json:
        names = {"id": self.id, "rawId": self.id, "type": "public-key"}
        further = {"clientExtensionResults": {}, "authenticatorAttachment": "platform"}
        return {**names, **further, "response": response}


def add_passkey(api: Any, token: str, origin: str, user_id: int = 1, **state: int) -> Authenticator:
    """Add a passkey to the user of a token."""
    device = Authenticator(origin, **state)
    options = api("POST", f"/users/{user_id}/passkeys/options", token=token)
    assert options.status_code == 200, options.json
    body = {"name": "phone", "credential": device.make(options.json)}
    made = api("POST", f"/users/{user_id}/passkeys", body, token=token)
    assert made.status_code == 200, made.json
    return device
