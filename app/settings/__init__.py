"""The settings: every one with its type, default and description."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from .fields import SECRET, Settings, is_address
from .mail import STARTTLS, MailSettings
from .project import ALLOW, PARENT, ProjectSettings, is_compatible
from .service import MAX_THREADS, AddressSettings, ServiceSettings
from .throttles import ThrottlesSchema
from .tokens import (
    CROSS_SITE,
    PasskeysSchema,
    PersonalTokensSchema,
    SecondFactorField,
    TokenMiddlewareSchema,
    TokenSettings,
)
from .users import HASH_WAIT, PasswordHashSchema, UserSettings, check_redirect_url

__all__ = [
    "ALLOW",
    "CROSS_SITE",
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
    def _check_same_site(self, settings: dict[str, Any], **_options: object) -> None:
        if settings["COOKIE_SAMESITE"] != CROSS_SITE:
            return
        if not settings["PUBLIC_URL"].startswith("https:"):
            raise ValidationError("must not be None unless PUBLIC_URL is https", "COOKIE_SAMESITE")
        if not {*settings["CORS_ORIGINS"]} - {"*"}:
            message = "must not be None unless CORS_ORIGINS has the origins of the pages"
            raise ValidationError(message, "COOKIE_SAMESITE")

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
