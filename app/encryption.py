"""Encryption of secrets that the database stores, by keys of the settings.

Imported only by features that are switched on, because its library is an extra.
"""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from app.problems import ConfigurationError

# The command that prints a key: 32 random bytes in the alphabet of RFC 4648, section 5.
EXAMPLE = "openssl rand -base64 32 | tr +/ -_"


class Encryption:
    """Encrypts with the first key of a setting, and decrypts with all of them.

    `feature` is the setting that needs the keys. Raises ConfigurationError for an invalid key.
    """

    def __init__(self, feature: str, setting: str, keys: list[str]) -> None:
        self._setting = setting
        if not keys:
            raise ConfigurationError(
                f"{feature} needs a key in {setting}, such as {EXAMPLE} prints"
            )
        try:
            self._keys = MultiFernet([Fernet(key) for key in keys])
        except ValueError:
            raise ConfigurationError(
                f"{setting} must be a list of keys such as {EXAMPLE} prints"
            ) from None

    def encrypt(self, secret: str) -> str:
        """Return an encrypted secret."""
        return self._keys.encrypt(secret.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """Return a stored secret; raise ValueError if no key fits."""
        try:
            return self._keys.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise ValueError(f"no key of {self._setting} fits") from None

    def rotate(self, stored: str) -> str:
        """Return a stored secret, encrypted with the first key; raise ValueError if no key fits."""
        try:
            return self._keys.rotate(stored.encode()).decode()
        except InvalidToken:
            raise ValueError(f"no key of {self._setting} fits") from None
