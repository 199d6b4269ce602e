"""May this caller do this? Reads the token that came with the request, which the hook resolved."""

from typing import Any, NoReturn

from flask import current_app, g

from app.errors import AccessDenied, AuthorizationRequired, ModelNotFound


def require_token(scope: str | None = None) -> Any:
    """Return the request's access token; raise 401 unless it has exactly this scope."""
    if g.access_token is not None and g.access_token.scope == scope:
        return g.access_token
    raise g.token_error or AuthorizationRequired()


def require_owner(user_id: str) -> int:
    """Return the caller's id, which must be the one in the path."""
    token = require_token()
    if user_id != str(token.user_id):
        refuse("user", user_id)
    return int(token.user_id)


def refuse(model: str, row_id: object) -> NoReturn:
    """Raise what a caller gets who is logged in and may not: see ACL_ERROR_STATUS."""
    status = current_app.config["ACL_ERROR_STATUS"]
    if status == 404:
        raise ModelNotFound(model, row_id)
    raise AuthorizationRequired() if status == 401 else AccessDenied()
