"""The relying party of WebAuthn: options for browsers, and verification of their responses.

Authenticators' data is checked before the library parses it. Imported only if passkeys are switched
on, because its libraries are an extra.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from ipaddress import ip_address
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

import webauthn
from cbor2 import CBORDecoder
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, parse_client_data_json
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AttestationConveyancePreference,
    AuthenticatorSelectionCriteria,
    AuthenticatorTransport,
    CollectedClientData,
    CredentialDeviceType,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialRequestOptions,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from app.ids import Id
from app.problems import ConfigurationError
from app.settings import Settings

from .models import Passkey

# The JSON of a browser's response, which may be malformed; and the options of both ceremonies.
CredentialJson = Mapping[str, Any]
CeremonyOptions = PublicKeyCredentialCreationOptions | PublicKeyCredentialRequestOptions
# Bytes of authenticator data before its keys and extensions (WebAuthn, 6.1), and of attested
# credential data before the credential id, whose length is in the last two of these bytes (6.5.1).
HEAD, ATTESTED_HEAD = 37, 18
FLAGS, HAS_CREDENTIAL = 32, 0x40
#: Maximum characters of the reason why a response is refused.
MAX_REASON = 300


class RelyingParty(NamedTuple):
    """The service as browsers and authenticators know it."""

    id: str
    name: str
    # The origins of pages, and of apps in the form of their systems.
    origins: list[str]


def read_relying_party(settings: Settings) -> RelyingParty:
    """Return the relying party of the settings; raise ConfigurationError if it is invalid."""
    url = urlsplit(settings["PUBLIC_URL"])
    host = url.hostname or ""
    if _is_ip_address(host) or (url.scheme != "https" and host != "localhost"):
        raise ConfigurationError(
            f"PASSKEYS needs a PUBLIC_URL with https and a name, or http://localhost, for which"
            f" alone browsers have passkeys; it is {settings['PUBLIC_URL']}"
        )
    party = settings["PASSKEYS"]["rp_id"] or host
    if host != party and not host.endswith(f".{party}"):
        raise ConfigurationError(
            f"PASSKEYS: rp_id must be {host}, the host of PUBLIC_URL, or a domain that it is in;"
            f" it is {party}"
        )
    origins = [f"{url.scheme}://{url.netloc}", *settings["PASSKEYS"]["origins"]]
    return RelyingParty(party, settings["SERVICE_NAME"], origins)


class Credential(NamedTuple):
    """The result of a registration: a new passkey, with its id and key in base64url."""

    credential_id: str
    public_key: str
    sign_count: int
    transports: list[str]
    backup_eligible: bool
    backed_up: bool


class Assertion(NamedTuple):
    """The result of an assertion: what a signature proves in addition to having the key."""

    sign_count: int
    backup_eligible: bool
    backed_up: bool


class Ceremonies:
    """The ceremonies of a relying party; the caller provides challenges as bytes."""

    def __init__(self, party: RelyingParty) -> None:
        self._party = party

    def user_handle(self, user_id: Id) -> str:
        """Return the user handle for authenticators in base64url, which reveals nothing else.

        It is the same for all passkeys of the user: an authenticator keeps one passkey for each
        handle.
        """
        return user_handle(self._party.id, user_id)

    def creation_options(
        self, user_id: Id, name: str, challenge: bytes, milliseconds: int, known: Sequence[Passkey]
    ) -> dict[str, object]:
        """Return PublicKeyCredentialCreationOptionsJSON that excludes the known authenticators.

        Requires a discoverable passkey and an authenticator that verifies the user, by a PIN or
        biometrics.
        """
        options = webauthn.generate_registration_options(
            rp_id=self._party.id,
            rp_name=self._party.name,
            user_id=base64url_to_bytes(self.user_handle(user_id)),
            user_name=name,
            user_display_name=name,
            challenge=challenge,
            timeout=milliseconds,
            attestation=AttestationConveyancePreference.NONE,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[_descriptor(passkey) for passkey in known],
        )
        return _to_json(options)

    def request_options(self, challenge: bytes, milliseconds: int) -> dict[str, object]:
        """Return PublicKeyCredentialRequestOptionsJSON for any passkey of this service."""
        options = webauthn.generate_authentication_options(
            rp_id=self._party.id,
            challenge=challenge,
            timeout=milliseconds,
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return _to_json(options)

    def challenge_of(self, answer: CredentialJson) -> bytes:
        """Return the challenge that a response claims to have signed; raise ValueError."""
        with _verifying():
            return _client_data(answer).challenge

    def verify_registration(self, answer: CredentialJson, challenge: bytes) -> Credential:
        """Return the passkey of a RegistrationResponseJSON; raise ValueError if it is invalid."""
        with _verifying():
            _require_own_page(answer)
            check_attestation_object(base64url_to_bytes(answer["response"]["attestationObject"]))
            shown = webauthn.verify_registration_response(
                credential=dict(answer),
                expected_challenge=challenge,
                expected_rp_id=self._party.id,
                expected_origin=self._party.origins,
                require_user_verification=True,
            )
            if bytes_to_base64url(shown.credential_id) != answer["id"]:
                raise WebAuthnException("The id is not that of the authenticator")
            return Credential(
                answer["id"],
                bytes_to_base64url(shown.credential_public_key),
                shown.sign_count,
                _known_transports(answer["response"].get("transports") or []),
                shown.credential_device_type == CredentialDeviceType.MULTI_DEVICE,
                shown.credential_backed_up,
            )

    def verify_assertion(
        self, answer: CredentialJson, challenge: bytes, public_key: str
    ) -> Assertion:
        """Verify an AuthenticationResponseJSON except its counter; raise ValueError if invalid.

        The caller compares the counter in the statement that stores it.
        """
        with _verifying():
            _require_own_page(answer)
            check_authenticator_data(base64url_to_bytes(answer["response"]["authenticatorData"]))
            shown = webauthn.verify_authentication_response(
                credential=dict(answer),
                expected_challenge=challenge,
                expected_rp_id=self._party.id,
                expected_origin=self._party.origins,
                credential_public_key=base64url_to_bytes(public_key),
                credential_current_sign_count=0,
                require_user_verification=True,
            )
            is_eligible = shown.credential_device_type == CredentialDeviceType.MULTI_DEVICE
            return Assertion(shown.new_sign_count, is_eligible, shown.credential_backed_up)


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


def user_handle(party: str, user_id: Id) -> str:
    """Return the user handle of a user of a relying party, in base64url (WebAuthn, 14.6.1)."""
    return bytes_to_base64url(sha256(f"passkey:{party}:{user_id}".encode()).digest())


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


@contextmanager
def _verifying() -> Iterator[None]:
    """Raise ValueError for any error of the library and its parsers about a response."""
    try:
        yield
    except WebAuthnException as error:
        reason = str(error).partition(" See __cause__")[0]
        raise ValueError(f"cannot be verified: {reason}"[:MAX_REASON]) from None
    except Exception:
        raise ValueError("is malformed") from None


def _client_data(answer: CredentialJson) -> CollectedClientData:
    return parse_client_data_json(base64url_to_bytes(answer["response"]["clientDataJSON"]))


def _require_own_page(answer: CredentialJson) -> None:
    """Raise WebAuthnException for a page in a frame of another site (WebAuthn, 7.1 and 7.2)."""
    if _client_data(answer).cross_origin:
        raise WebAuthnException("The page was in a frame of another site")


def _descriptor(passkey: Passkey) -> PublicKeyCredentialDescriptor:
    return PublicKeyCredentialDescriptor(
        id=base64url_to_bytes(passkey.credential_id),
        transports=[AuthenticatorTransport(name) for name in passkey.transports],
    )


def _known_transports(names: Sequence[str]) -> list[str]:
    """Return the transports that the library knows; browsers may send newer ones."""
    return [known.value for known in AuthenticatorTransport if known.value in names]


def _to_json(options: CeremonyOptions) -> dict[str, object]:
    found: dict[str, object] = json.loads(webauthn.options_to_json(options))
    return found


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
