"""Authenticator apps of users."""

from typing import Any

import pyotp

from app.times import now

from .waiting import eventually

PERIOD = 30
# Seconds for what is done with a code.
PATIENCE = 5
FACTOR_KEY = "c2V2ZW50eS1zZXZlbiBzaWxlbnQgaGFyYm91cnMgYXQ="
OPTIONAL = {"SECOND_FACTOR": "optional", "FACTOR_KEYS": [FACTOR_KEY]}


class Device:
    """The authenticator app of a user; each code is of a later period than the one before."""

    def __init__(self, secret: str, patience: float = PATIENCE) -> None:
        """Give codes that are valid for so many seconds more, however busy the machine is."""
        self.totp = pyotp.TOTP(secret)
        self._patience = patience
        # The period of the last code.
        self.step = 0

    def code(self) -> str:
        """Return a code; the third one within a period may have to wait for the next period."""
        period, passed = divmod(now().timestamp(), PERIOD)
        ends_soon = passed > PERIOD - self._patience
        # The code of the period before is valid until this one ends.
        self.step = max(self.step + 1, int(period) - (0 if ends_soon else 1))
        # So is that of the next period.
        eventually(lambda: self.step <= now().timestamp() // PERIOD + 1)
        return self.totp.generate_otp(self.step)


def enrol(api: Any, token: str, user_id: int = 1) -> Device:
    """Add an authenticator app to the user of a token."""
    made = api("POST", f"/users/{user_id}/factors/totp", {"name": "phone"}, token=token)
    assert made.status_code == 200, made.json
    api.secrets.append(made.json["secret"])
    device = Device(made.json["secret"])
    path = f"/users/{user_id}/factors/totp/confirm"
    assert api("POST", path, {"code": device.code()}, token=token).status_code == 204
    return device
