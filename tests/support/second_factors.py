"""Authenticator apps of users."""

from typing import Any

import pyotp

from app.times import now

FACTOR_KEY = "c2V2ZW50eS1zZXZlbiBzaWxlbnQgaGFyYm91cnMgYXQ="
OPTIONAL = {"SECOND_FACTOR": "optional", "FACTOR_KEYS": [FACTOR_KEY]}


class Device:
    """The authenticator app of a user; each code is of a later period than the one before."""

    def __init__(self, secret: str, patience: float = 0) -> None:
        """Begin with the code of the period before, unless this one ends within so many seconds.

        The code would then not be valid any more.
        """
        self.totp = pyotp.TOTP(secret)
        period, passed = divmod(now().timestamp(), 30)
        self.step = int(period) - (1 if passed > 30 - patience else 2)

    def code(self) -> str:
        self.step += 1
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
