"""The service for logins by providers: begin one, and finish it with a session or an identity."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from flask import current_app
from sqlalchemy import exists

from app.access.identity import LiveToken
from app.audit.entries import UNVERIFIED_EMAIL, Action, record_attempt
from app.errors import EmailNotVerified, LoginFailed, TooManyRequests
from app.ids import Id
from app.observability.origin import current_network
from app.signals import emit, identity_login
from app.throttles import LOGIN_ADDRESS, count, count_failure
from app.times import now
from app.users.accounts.lookup import get_user
from app.users.sessions.login import login_identified
from app.users.sessions.tokens import IssuedToken

from . import flows
from .client import ProviderClient
from .configuration import Provider, ProviderRoute
from .errors import LoginError, ProviderError
from .http import error_code
from .linking import find_or_join, link
from .models import ExternalIdentity
from .openid import LEEWAY, MAX_AGE
from .profiles import Profile

# The throttle of logins that a client begins.
PROVIDER_LOGIN = "provider_login"
# The log line of a refused login.
REFUSAL = "a login by %s failed: %s"


def begin(
    client: ProviderClient, route: ProviderRoute, browser_token: str, link_user_id: Id | None = None
) -> str:
    """Begin a login, or adding an identity to a user; return the provider's URL.

    Raises TooManyRequests, or LoginFailed if the provider cannot be reached.
    """
    with refusals(client):
        count(PROVIDER_LOGIN, current_network())
        # Before the flow is stored, so that a provider that is down costs no row.
        endpoint = client.authorization_endpoint()
    flow = flows.begin(client.provider.name, browser_token, link_user_id)
    return client.authorization_url(endpoint, route, flow.state, flow.nonce, flow.verifier)


def finish(client: ProviderClient, answer: Mapping[str, str], browser_token: str) -> IssuedToken:
    """Finish a login with the provider's response: open a session.

    Raises LoginFailed, AccountExists, EmailNotVerified or TooManyRequests.
    """
    route = client.provider.login
    with refusals(client), count_failure(LOGIN_ADDRESS, current_network()):
        _, profile = _profile(client, route, answer, browser_token, is_link=False)
        return _open_session(client, profile)


def finish_link(
    client: ProviderClient, answer: Mapping[str, str], browser_token: str, session: LiveToken
) -> ExternalIdentity:
    """Finish adding an identity to the user of a session, with the provider's response.

    Raises LoginFailed, also if another user began it, TooManyRequests, and the errors of `link`.
    """
    route = client.provider.link
    with refusals(client), count_failure(LOGIN_ADDRESS, current_network()):
        flow, profile = _profile(client, route, answer, browser_token, is_link=True)
        if flow.link_user_id != session.user_id:
            reason = "another user is logged in than when it began"
            raise LoginError(reason, user_id=session.user_id)
        return link(client.provider.provider, profile, session.user_id, session.digest)


def login_with_id_token(client: ProviderClient, id_token: str, nonce: str | None) -> IssuedToken:
    """Log in with a provider's ID token from an app; each token is accepted once.

    Raises the errors of `finish`.
    """
    with refusals(client), count_failure(LOGIN_ADDRESS, current_network()):
        profile = client.check_id_token(id_token, nonce)
        # No token is accepted for longer than this.
        expires_at = now() + timedelta(seconds=MAX_AGE + 2 * LEEWAY)
        # Without the signature, because the same token may have several.
        signed = id_token.rpartition(".")[0]
        if not flows.use_once(client.provider.name, signed, expires_at):
            raise LoginError("the ID token was used before")
        return _open_session(client, profile)


def _profile(
    client: ProviderClient,
    route: ProviderRoute | None,
    answer: Mapping[str, str],
    browser_token: str,
    is_link: bool,
) -> tuple[flows.Flow, Profile]:
    """Return the flow that a response finishes, and the user in it; raise LoginError."""
    flow = flows.consume(client.provider.name, browser_token, answer.get("state", ""), is_link)
    if flow is None or route is None:
        raise LoginError("this browser has not begun it, or it is over")
    client.check_issuer(answer.get("iss"))
    if "error" in answer:
        raise ProviderError(f"it answered {error_code(answer['error'])}")
    if not (code := answer.get("code")):
        raise ProviderError("it sent no code, or one that is not valid")
    return flow, client.redeem(route, code, flow.verifier, flow.nonce)


def _open_session(client: ProviderClient, profile: Profile) -> IssuedToken:
    provider = client.provider
    identity = find_or_join(provider, profile)
    # Both may have been removed meanwhile.
    is_linked = exists().where(
        ExternalIdentity.id == identity.id, ExternalIdentity.user_id == identity.user_id
    )
    details = {"provider": provider.provider}
    try:
        methods = _methods(provider, profile)
        token = login_identified(identity.user_id, is_linked, methods=methods, **details)
    except EmailNotVerified:
        answer = partial(EmailNotVerified, identity.user_id)
        raise LoginError(UNVERIFIED_EMAIL, answer, identity.user_id) from None
    except LoginFailed:
        reason = "the user is disabled, or was deleted meanwhile"
        raise LoginError(reason, user_id=identity.user_id) from None
    emit(identity_login, info={"identity": identity, "user": get_user(identity.user_id)})
    return token


def _methods(provider: Provider, profile: Profile) -> tuple[str, ...]:
    """Return the methods of a login, with `mfa` if the provider required several factors."""
    has_method = not provider.strong_amr.isdisjoint(profile.amr)
    return ("fed", "mfa") if has_method or profile.acr in provider.strong_acr else ("fed",)


@contextmanager
def refusals(client: ProviderClient) -> Iterator[None]:
    """Limit the time of a login's requests; log its failure, and raise the client's error."""
    name = client.provider.provider
    try:
        with client.http.deadline():
            yield
    except LoginError as refused:
        current_app.logger.warning(REFUSAL, name, refused)
        record_attempt(Action.LOGIN_FAILED, refused.user_id, provider=name, reason=str(refused))
        raise refused.answer() from None
    except TooManyRequests as error:
        # The throttle has already recorded it in the audit log.
        current_app.logger.warning(REFUSAL, name, error.description)
        raise
