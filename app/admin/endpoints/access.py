"""The caller's identity and permissions."""

from collections import defaultdict

from app.access.identity import current_identity
from app.access.policy import find_grant
from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import AccessSchema
from app.rest.endpoint import Endpoint, served_endpoints
from app.users.accounts import lookup
from app.users.sessions.assurance import is_recent


@call("access", READ, "GET /access", answer=AccessSchema)
def access() -> dict[str, object]:
    """Return who the caller is, and the methods of each model that it may call."""
    identity = current_identity()
    session = identity.require_session()
    return {
        "user_id": session.user_id,
        "email": lookup.get_user(session.user_id).email,
        "roles": sorted(identity.roles),
        "is_strong": identity.is_strong,
        "is_recent": is_recent(session.digest),
        "methods": _permitted(),
    }


def _permitted() -> dict[str, list[str]]:
    """Return the methods that the caller may call, by the name of the model."""
    permitted = defaultdict[str, list[str]](list)
    for name, endpoint in served_endpoints.current.items():
        model, _, method = name.partition(".")
        if _may_call(model, endpoint):
            permitted[model].append(method)
    return {model: sorted(methods) for model, methods in sorted(permitted.items())}


def _may_call(model: str, endpoint: Endpoint) -> bool:
    """Return True if the caller may call a method; if it lists rows, not only on its own rows."""
    grant = find_grant(model, endpoint.method)
    is_of_row = any("<id>" in route.path for route in endpoint.routes)
    return bool(grant.decision) and (grant.decision.others or grant.by_row or is_of_row)
