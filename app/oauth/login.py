"""The service for logins by providers: begin one, and end it with a session or an identity."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from flask import current_app
from sqlalchemy import exists

from app.access.identity import LiveToken
from app.errors import AccountExists, EmailNotVerified, LoginFailed
from app.extensions import now
from app.ids import Id
from app.ops.audit import Action, record_attempt
from app.ops.origin import current_network
from app.ops.throttles import LOGIN_ADDRESS, PROVIDER_LOGIN, attempt, count
from app.signals import emit, identity_login
from app.users.accounts import get_user
from app.users.login import login_identified
from app.users.tokens import IssuedToken

from . import flows
from .client import Client
from .configuration import Route
from .http import error_code
from .id_tokens import LEEWAY, MAX_AGE
from .linking import find_or_join, link
from .models import Identity
from .problems import ProviderError
from .profiles import Profile


def begin(client: Client, route: Route, browser_token: str, link_user_id: Id | None = None) -> str:
    """Begin a login, or for a user adding an identity; return the address at the provider.

    Raises TooManyRequests, or LoginFailed if the provider cannot be reached.
    """
    count(PROVIDER_LOGIN, current_network())
    with _failures(client):
        # Before the flow is stored: a provider that is down costs no row.
        endpoint = client.authorization_endpoint()
    flow = flows.begin(client.provider.name, browser_token, link_user_id)
    return client.authorization_url(endpoint, route, flow.state, flow.nonce, flow.verifier)


def finish(client: Client, answer: Mapping[str, str], browser_token: str) -> IssuedToken:
    """End a login with the provider's answer: open a session.

    Raises LoginFailed, AccountExists, EmailNotVerified or TooManyRequests.
    """
    route = client.provider.login
    with attempt(LOGIN_ADDRESS, current_network()), _failures(client):
        _, profile = _profile(client, route, answer, browser_token, is_link=False)
        return _open_session(client, profile)


def finish_link(
    client: Client, answer: Mapping[str, str], browser_token: str, session: LiveToken
) -> Identity:
    """End adding an identity to the user of a session, with the provider's answer.

    Raises LoginFailed, also if another user has begun it, TooManyRequests, and what `link` does.
    """
    route = client.provider.link
    with attempt(LOGIN_ADDRESS, current_network()), _failures(client):
        flow, profile = _profile(client, route, answer, browser_token, is_link=True)
        if flow.link_user_id != session.user_id:
            raise ProviderError("another user is logged in than when it began")
        return link(client.provider.provider, profile, session.user_id, session.digest)


def login_with_id_token(client: Client, id_token: str, nonce: str | None) -> IssuedToken:
    """Log in with an ID token that an app got from the provider; each is accepted once.

    Raises what `finish` does.
    """
    with attempt(LOGIN_ADDRESS, current_network()), _failures(client):
        profile = client.check_id_token(id_token, nonce)
        # No longer than this is any token accepted.
        expires_at = now() + timedelta(seconds=MAX_AGE + 2 * LEEWAY)
        # Without the signature, of which there may be several for the same token.
        signed = id_token.rpartition(".")[0]
        if not flows.use_once(client.provider.name, signed, expires_at):
            raise ProviderError("the ID token was used before")
        return _open_session(client, profile)


def _profile(
    client: Client,
    route: Route | None,
    answer: Mapping[str, str],
    browser_token: str,
    is_link: bool,
) -> tuple[flows.Flow, Profile]:
    """Return the flow that an answer ends, and the user whom it names; raise ProviderError."""
    flow = flows.consume(client.provider.name, browser_token, answer.get("state", ""), is_link)
    if flow is None or route is None:
        raise ProviderError("this browser has not begun it, or it is over")
    client.check_issuer(answer.get("iss"))
    if "error" in answer:
        raise ProviderError(f"it answered {error_code(answer['error'])}")
    if not (code := answer.get("code")):
        raise ProviderError("it sent no code, or one that is not valid")
    return flow, client.redeem(route, code, flow.verifier, flow.nonce)


def _open_session(client: Client, profile: Profile) -> IssuedToken:
    provider = client.provider
    identity = find_or_join(provider.provider, profile, provider.realm, provider.trust_email)
    # Both may have been removed meanwhile.
    is_linked = exists().where(Identity.id == identity.id, Identity.user_id == identity.user_id)
    details = {"provider": provider.provider}
    try:
        token = login_identified(identity.user_id, is_linked, **details)
    except EmailNotVerified:
        reason = {"reason": "unverified email"}
        record_attempt(Action.LOGIN_FAILED, identity.user_id, **details, **reason)
        raise
    emit(identity_login, info={"identity": identity, "user": get_user(identity.user_id)})
    return token


@contextmanager
def _failures(client: Client) -> Iterator[None]:
    """Bound the time of the requests; log and record a failure, and raise LoginFailed instead."""
    name = client.provider.provider
    try:
        with client.http.deadline():
            yield
    except ProviderError as error:
        current_app.logger.warning("a login by %s failed: %s", name, error)
        record_attempt(Action.LOGIN_FAILED, provider=name, reason=str(error))
        raise LoginFailed() from None
    except (LoginFailed, AccountExists) as error:
        record_attempt(Action.LOGIN_FAILED, provider=name, reason=error.error_code)
        raise
