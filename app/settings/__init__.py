"""The settings: every one with its type, default and description."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from .fields import SECRET, Settings, is_address
from .mail import STARTTLS, MailSettings
from .project import ALLOW, PARENT, ProjectSettings, is_compatible
from .service import MAX_THREADS, AddressSettings, ServiceSettings
from .throttles import ThrottlesSchema
from .tokens import (
    PasskeysSchema,
    PersonalTokensSchema,
    SecondFactorField,
    TokenMiddlewareSchema,
    TokenSettings,
)
from .users import HASH_WAIT, PasswordHashSchema, UserSettings, check_redirect_url

__all__ = [
    "ALLOW",
    "HASH_WAIT",
    "MAX_THREADS",
    "PARENT",
    "SECRET",
    "STARTTLS",
    "PasskeysSchema",
    "PasswordHashSchema",
    "PersonalTokensSchema",
    "SecondFactorField",
    "Settings",
    "SettingsSchema",
    "ThrottlesSchema",
    "TokenMiddlewareSchema",
    "check_redirect_url",
    "is_address",
    "is_compatible",
]


# In the reverse order of docs/configuration.md: marshmallow begins with the fields of the last one.
class SettingsSchema(
    ServiceSettings,
    MailSettings,
    ProjectSettings,
    UserSettings,
    TokenSettings,
    AddressSettings,
):
    """Every setting of Ostiary, with its type, default and meaning."""

    @validates_schema
    def _check_origins(self, settings: dict[str, Any], **_options: object) -> None:
        if "*" in settings["CORS_ORIGINS"] and settings["TOKEN_MIDDLEWARE"]:
            raise ValidationError("must not have * with TOKEN_MIDDLEWARE", "CORS_ORIGINS")

    @validates_schema
    def _compare_limits(self, settings: dict[str, Any], **_options: object) -> None:
        for name, limit in (
            ("TOKEN_TTL", "TOKEN_MAX_TTL"),
            ("PASSWORD_MIN_LENGTH", "PASSWORD_MAX_LENGTH"),
        ):
            if settings[name] > settings[limit]:
                message = f"{settings[name]} is more than {limit}, which is {settings[limit]}"
                raise ValidationError(message, name)
        if settings["TOKEN_SLIDING"] and settings["TOKEN_TOUCH_INTERVAL"] >= settings["TOKEN_TTL"]:
            message = f"must be less than TOKEN_TTL, which is {settings['TOKEN_TTL']}"
            raise ValidationError(message, "TOKEN_TOUCH_INTERVAL")
