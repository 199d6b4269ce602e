"""What the users' own endpoints take and give, for the OpenAPI document."""

from flask import Flask

from app import errors
from app.openapi import Operation

from .models import RESET_SCOPE
from .schemas import (
    ChangePasswordSchema,
    CredentialsSchema,
    LoginSchema,
    LogoutSchema,
    NewPasswordSchema,
    ResetRequestSchema,
    SessionSchema,
)

USER_ID = {"type": "integer", "minimum": 1, "examples": [1]}
NO_USER = errors.ModelNotFound("user", 7)
INCLUDE = {
    "name": "include",
    "in": "query",
    "description": "`user` adds the user to the answer.",
    "schema": {"type": "string", "enum": ["user"]},
}


def describe(app: Flask) -> dict[str, Operation]:
    """Describe the endpoints that users have beyond those of every collection."""
    return {f"users.{method}": operation for method, operation in OPERATIONS.items()}


OPERATIONS = {
    "login": Operation(
        body=CredentialsSchema,
        answer=LoginSchema,
        parameters=(INCLUDE,),
        errors=(
            errors.LoginFailed(),
            errors.UsernameOrEmailRequired(),
            errors.RealmRequired(),
            errors.InvalidEmail(),
            errors.InvalidUsername(),
            errors.InvalidRealm(),
            errors.InvalidTtl(),
        ),
    ),
    "logout": Operation(
        body=LogoutSchema,
        token_optional=True,
        errors=(errors.AccessTokenRequired(), errors.InvalidToken()),
    ),
    "resetPassword": Operation(
        body=ResetRequestSchema,
        answer={"type": "object", "additionalProperties": False},
        errors=(errors.EmailRequired(), errors.InvalidEmail(), errors.InvalidRealm()),
    ),
    "setPassword": Operation(
        body=NewPasswordSchema,
        scope=RESET_SCOPE,
        errors=(errors.ValidationError({"newPassword": ["is too common"]}),),
    ),
    "changePassword": Operation(
        body=ChangePasswordSchema,
        errors=(
            errors.InvalidPassword(),
            errors.ValidationError({"newPassword": ["is too common"]}),
        ),
    ),
    "__get__accessTokens": Operation(
        answer=[SessionSchema], arguments={"id": USER_ID}, errors=(NO_USER,)
    ),
    "__destroyById__accessTokens": Operation(
        arguments={"id": USER_ID},
        errors=(NO_USER, errors.ModelNotFound("accessToken", "0123456789abcdef")),
    ),
    "__delete__accessTokens": Operation(arguments={"id": USER_ID}, errors=(NO_USER,)),
}
