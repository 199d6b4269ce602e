"""One-time passwords by the clock (RFC 6238), whose secrets are encrypted.

Imported only if second factors are switched on, because the libraries are an extra.
"""

import hmac
import io

import pyotp
import segno
from flask import current_app

from app.encryption import Encryption
from app.times import now

#: Seconds of a period, and digits of a code: the values that all authenticator apps support.
PERIOD, DIGITS = 30, 6
#: Periods by which a device's clock may differ (RFC 6238, 5.2, and ASVS 6.5.5).
DRIFT = 1


class Codes:
    """The codes of an app's secrets, which are encrypted by its keys."""

    def __init__(self, keys: Encryption) -> None:
        self._keys = keys

    def new_secret(self) -> str:
        """Return a new 160-bit secret in base32 (RFC 4226, 4)."""
        return pyotp.random_base32()

    def encrypt(self, secret: str) -> str:
        """Return an encrypted secret."""
        return self._keys.encrypt(secret)

    def rotate(self, stored: str) -> str:
        """Return a stored secret, encrypted with the first key; raise ValueError if no key fits."""
        return self._keys.rotate(stored)

    def matching_step(self, stored: str, code: str, after: int | None) -> int | None:
        """Return the latest period with this code; None if no period near the present has it.

        `after` is the period of the last code: codes up to it do not match.
        """
        try:
            totp = pyotp.TOTP(self._keys.decrypt(stored), digits=DIGITS)
        except ValueError as error:
            current_app.logger.error("a second factor cannot be read: %s", error)
            return None
        present = int(now().timestamp()) // PERIOD
        steps = range(present - DRIFT, present + DRIFT + 1)
        matching = [step for step in steps if _is_of(totp, code, step)]
        latest = max(matching, default=None)
        if latest is None or (after is not None and latest <= after):
            return None
        # Adjacent periods may have the same code, which must not count for the second one, either.
        while _is_of(totp, code, latest + 1):
            latest += 1
        return latest

    def address(self, secret: str, account: str) -> str:
        """Return the `otpauth:` URI of a secret, which authenticator apps read."""
        issuer = current_app.config["SERVICE_NAME"]
        return pyotp.TOTP(secret, digits=DIGITS).provisioning_uri(name=account, issuer_name=issuer)

    def picture(self, address: str) -> str:
        """Return the QR code of a URI as SVG."""
        written = io.BytesIO()
        segno.make(address, error="m", micro=False).save(
            written, kind="svg", xmldecl=False, scale=4, dark="#000", light="#fff"
        )
        return written.getvalue().decode()


def _is_of(totp: pyotp.TOTP, code: str, step: int) -> bool:
    """Return True if a code belongs to the period with this number."""
    return hmac.compare_digest(totp.generate_otp(step), code)
