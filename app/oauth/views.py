"""Views for browsers and apps that log in by a provider, at the configured paths."""

from collections.abc import Callable
from functools import partial, wraps
from urllib.parse import urlencode

from flask import Blueprint, Flask, Response, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException, Unauthorized

from app.access.identity import COOKIE, QUERY, LiveToken, current_identity
from app.database.purging import purger
from app.errors import AccessDenied, AccountExists, SecondFactorRequired
from app.openapi import login_paths
from app.rest.requests.bodies import read_body
from app.users.resource import users_collection
from app.users.sessions.assurance import require_recent_of_strong
from app.users.sessions.cookies import (
    cookie_flags,
    has_secure_cookies,
    require_same_site,
    set_login_cookies,
    set_second_step_cookie,
)
from app.users.user_models import FIRST
from app.users.views.sessions import respond_with_token

from . import clients, login
from .client import ProviderClient
from .configuration import ProviderRoute, configure
from .errors import LoginError
from .flows import FLOW_LIFETIME, new_browser_token, purge_batch
from .models import MAX_ISSUER, LoginFlow
from .schemas import MAX_CODE, IdTokenSchema

# The cookie of the browser that begins a login. With this prefix, no other host can set it.
FLOW_COOKIE, SECURE_PREFIX = "login_flow", "__Host-"
# Maximum characters of this cookie's value.
MAX_BROWSER_TOKEN = 64
# The parameters of a provider's response, with the maximum characters of each.
ANSWER = {"code": MAX_CODE, "state": 64, "iss": MAX_ISSUER, "error": 64}

ProviderView = Callable[[ProviderClient, ProviderRoute], ResponseReturnValue]


def init_app(app: Flask) -> None:
    """Serve the configured providers; raise ConfigurationError for invalid settings."""
    served = (rule.rule.rstrip("/") for rule in app.url_map.iter_rules())
    configuration = configure(app.config, served)
    for warning in configuration.warnings:
        app.logger.warning("PROVIDERS: %s", warning)
    slots = max(1, app.config["THREADS"] // 2)
    made = {provider.name: ProviderClient(provider, slots) for provider in configuration.providers}
    clients.set(app, made)
    app.jinja_env.globals["login_links"] = [
        (provider.label, provider.login.path)
        for provider in configuration.providers
        if provider.login
    ]
    logins = {each.name: each.login.path for each in configuration.providers if each.login}
    login_paths.of(app).update(logins)
    bp = Blueprint("oauth", __name__)
    for client in made.values():
        _add_routes(bp, client)
    app.register_blueprint(bp)
    purger.of(app).add(LoginFlow.__tablename__, purge_batch)


def _add_routes(bp: Blueprint, client: ProviderClient) -> None:
    provider = client.provider
    if provider.login:
        _add(bp, client, provider.login, "login", begin_login, finish_login)
        if provider.preset.is_openid:
            view, name = partial(login_with_token, client), f"{provider.name}-token"
            bp.add_url_rule(provider.login.token_path, name, view, methods=["POST"])
    if provider.link:
        _add(bp, client, provider.link, "link", begin_link, finish_link)


def _add(
    bp: Blueprint,
    client: ProviderClient,
    route: ProviderRoute,
    kind: str,
    begin: ProviderView,
    finish: ProviderView,
) -> None:
    name = f"{client.provider.name}-{kind}"
    callback = partial(finish, client, route)
    bp.add_url_rule(route.path, f"{name}-begin", partial(begin, client, route), methods=["GET"])
    bp.add_url_rule(route.callback_path, f"{name}-finish", callback, methods=["GET"])
    if client.provider.posts_answer:
        posted = partial(repeat_as_get, route)
        bp.add_url_rule(route.callback_path, f"{name}-posted", posted, methods=["POST"])


def _with_redirect(view: ProviderView) -> ProviderView:
    """Wrap a view, so that failures are redirects if the settings say so."""

    @wraps(view)
    def respond(client: ProviderClient, route: ProviderRoute) -> ResponseReturnValue:
        try:
            return view(client, route)
        except (Unauthorized, AccountExists) as error:
            if route.json or route.failure_redirect is None:
                raise
            response = _redirect(_failure_url(route, route.failure_redirect, error))
            if isinstance(error, SecondFactorRequired):
                set_second_step_cookie(response, error.ticket)
            return response

    return respond


@_with_redirect
def begin_login(client: ProviderClient, route: ProviderRoute) -> ResponseReturnValue:
    """Redirect to the provider."""
    browser_token = _browser_token() or new_browser_token()
    return _to_provider(login.begin(client, route, browser_token), browser_token)


@_with_redirect
def finish_login(client: ProviderClient, route: ProviderRoute) -> ResponseReturnValue:
    """Open a session for the user in the provider's response."""
    token = login.finish(client, _answer(request.args), _browser_token())
    if route.json:
        return jsonify({"access_token": token.id, "userId": token.user_id})
    response = _redirect(route.success_redirect)
    set_login_cookies(response, token.id, token.user_id, token.ttl)
    return response


@_with_redirect
def begin_link(client: ProviderClient, route: ProviderRoute) -> ResponseReturnValue:
    """Redirect a logged-in user to the provider.

    Only from a page of this site: another site could otherwise make the user add its own identity.
    Users with a second factor need a recent login.
    """
    session = _require_session(client, from_this_site=True)
    require_recent_of_strong(session)
    browser_token = _browser_token() or new_browser_token()
    return _to_provider(login.begin(client, route, browser_token, session.user_id), browser_token)


@_with_redirect
def finish_link(client: ProviderClient, route: ProviderRoute) -> ResponseReturnValue:
    """Add the identity in the provider's response to the logged-in user."""
    session = _require_session(client, from_this_site=False)
    identity = login.finish_link(client, _answer(request.args), _browser_token(), session)
    if route.json:
        return jsonify({"identityId": identity.id, "userId": identity.user_id})
    return _redirect(route.success_redirect)


def repeat_as_get(route: ProviderRoute) -> ResponseReturnValue:
    """Repeat a response sent by another site's form, so that the browser sends its cookie."""
    return _redirect(f"{route.callback_path}?{urlencode(_answer(request.form))}", 303)


def login_with_token(client: ProviderClient) -> ResponseReturnValue:
    """Log in with a provider's ID token from an app."""
    body = IdTokenSchema().load(read_body())
    token = login.login_with_id_token(client, body["id_token"], body["nonce"])
    return respond_with_token(token, users_collection())


def _require_session(client: ProviderClient, from_this_site: bool) -> LiveToken:
    """Return the session of the logged-in user, unless its token is in the URL.

    Such a URL could be somebody else's, who would get the identity of the user who opens it.
    """
    identity = current_identity()
    location = identity.transport.location if identity.transport else None
    with login.refusals(client):
        if identity.session is None or location == QUERY:
            raise LoginError("nobody is logged in", identity.unauthorized)
        if identity.principal_type != FIRST:
            raise LoginError("the user is of another model", AccessDenied)
        if from_this_site and location == COOKIE:
            _require_same_site()
    return identity.session


def _require_same_site() -> None:
    try:
        require_same_site()
    except AccessDenied as error:
        answer = partial(AccessDenied, error.description)
        raise LoginError("it was begun by a page of another site", answer) from None


def _redirect(url: str, status: int = 302) -> Response:
    return Response(status=status, headers={"Location": url})


def _answer(values: MultiDict[str, str]) -> dict[str, str]:
    """Return the parameters of a provider's response.

    A repeated, too long or not printable ASCII one is left out (RFC 6749, 3.1 and A).
    """
    found = {name: values.getlist(name) for name in ANSWER}
    once = {name: given[0] for name, given in found.items() if len(given) == 1}
    return {
        name: value
        for name, value in once.items()
        if len(value) <= ANSWER[name] and value.isascii() and value.isprintable()
    }


def _failure_url(route: ProviderRoute, url: str, error: HTTPException) -> str:
    if not route.names_error:
        return url
    query = urlencode({"error": getattr(error, "error_code", "LOGIN_FAILED")})
    return f"{url}{'&' if '?' in url else '?'}{query}"


def _to_provider(url: str, browser_token: str) -> Response:
    response = _redirect(url)
    # Providers lead back by a page that the browser opens, whatever COOKIE_SAMESITE is.
    flags = {**cookie_flags(path="/"), "samesite": "Lax"}
    response.set_cookie(_cookie_name(), browser_token, max_age=FLOW_LIFETIME, **flags)
    return response


def _browser_token() -> str:
    """Return the value of the browser's cookie; "" if there is none.

    A browser may have several pending logins.
    """
    value = request.cookies.get(_cookie_name(), "")
    return value if len(value) <= MAX_BROWSER_TOKEN else ""


def _cookie_name() -> str:
    return f"{SECURE_PREFIX if has_secure_cookies() else ''}{FLOW_COOKIE}"
