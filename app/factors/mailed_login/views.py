"""Endpoints for logins by mail, and the page that a mailed link opens.

The page has a button for the browser that requested the code. Any other browser shows the code, to
be typed where the login was begun. Without EMAIL_LOGIN the endpoints are declared but not served.
"""

import re
from collections.abc import Sequence

from flask import Blueprint, Response, current_app, jsonify, request
from flask.typing import ResponseReturnValue
from marshmallow import EXCLUDE

from app import errors
from app.access.rules import EVERYONE, EXECUTE
from app.factors import steps
from app.fields.base import Schema, Text
from app.http.templates import languages_of, render_page
from app.observability.origin import current_languages
from app.rest.requests.bodies import Body, read_body
from app.settings import Settings
from app.users.models import TOKEN_LENGTH
from app.users.resource import users, users_collection
from app.users.schemas import MAX_FACTOR_TEXT, AccessTokenSchema, ResetRequestSchema
from app.users.sessions.cookies import (
    SECOND_STEP_COOKIE,
    clear_login_flow_cookie,
    set_cookie,
    set_login_flow_cookie,
)
from app.users.sessions.tokens import IssuedToken
from app.users.views.sessions import respond_with_token

from . import service

#: Maximum characters of an entered code, with spaces.
MAX_TYPED_CODE = 32
# The cookie of the browser that requested a code.
TICKET_COOKIE = "login_ticket"
CODE = re.compile(rf"[0-9]{{{service.DIGITS}}}", re.ASCII)

bp = Blueprint("mailed_login", __name__)


class TicketSchema(Schema):
    """The ticket of a login by mail."""

    ticket = Text(TOKEN_LENGTH, required=True, metadata={"examples": ["0123456789abcdef" * 4]})


class MailedCodeSchema(TicketSchema):
    """The body of a login by mail: the ticket and the mailed code."""

    class Meta:
        """Ignore unknown keys, as logins do."""

        unknown = EXCLUDE

    code = Text(MAX_TYPED_CODE, required=True, metadata={"examples": ["01234567"]})


def _is_served(settings: Settings) -> bool:
    return bool(settings["EMAIL_LOGIN"])


@users.endpoint(
    "requestLoginCode",
    EXECUTE,
    "POST /login/mail",
    permits=EVERYONE,
    body=ResetRequestSchema,
    answer=TicketSchema,
    errors=(
        errors.EmailRequired(),
        errors.InvalidEmail(),
        errors.InvalidRealm(),
        errors.TooManyRequests(60),
    ),
    is_served=_is_served,
    summary="Mail a code to log in; the response is the same for unknown emails",
)
def request_code(body: Body) -> Response:
    """Mail a code to log in; the response is the same for unknown emails."""
    ticket = service.request_code(**body)
    response = jsonify(TicketSchema().dump({"ticket": ticket}))
    _set_ticket_cookie(response, ticket)
    return response


@users.endpoint(
    "loginByCode",
    EXECUTE,
    "POST /login/mail/confirm",
    permits=EVERYONE,
    body=MailedCodeSchema,
    answer=AccessTokenSchema,
    errors=(errors.LoginFailed(), errors.TooManyRequests(60)),
    is_served=_is_served,
    summary="Log in with a mailed code; the email counts as verified from then on",
)
def log_in(body: Body) -> Response:
    """Log in with a mailed code; the email counts as verified from then on."""
    return respond_with_token(service.log_in(**body), users_collection())


@bp.get("/login-code")
def show() -> ResponseReturnValue:
    """Show a button or the code; does not use it up, because mail scanners open links, too."""
    code, languages = request.args.get("code", ""), current_languages()
    if not CODE.fullmatch(code):
        return _page(languages, 400, expired=True)
    return _page(languages, 200, code=code, is_begun_here=TICKET_COOKIE in request.cookies)


@bp.post("/login-code")
def submit() -> ResponseReturnValue:
    """Log in with the ticket of this browser."""
    form = {name: str(value) for name, value in read_body().items()}
    code, languages = form.get("code", ""), languages_of(form)
    try:
        token = service.log_in(request.cookies.get(TICKET_COOKIE, ""), code)
    except errors.EnrolmentRequired:
        return _page(languages, 401, enrols=True)
    except errors.SecondFactorRequired as error:
        response = _page(languages, 401, takes_factor=True)
        set_login_flow_cookie(response, SECOND_STEP_COOKIE, error.ticket, steps.TICKET_LIFETIME)
        return response
    except errors.LoginFailed:
        return _page(languages, 401, expired=True)
    except errors.TooManyRequests as error:
        response = _page(languages, 429, code=code, is_begun_here=True, problem=True)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    return _logged_in(token, TICKET_COOKIE, languages)


@bp.post("/login-code/factor")
def submit_factor() -> ResponseReturnValue:
    """Finish this browser's login with a second factor."""
    form = {name: str(value) for name, value in read_body().items()}
    ticket, languages = request.cookies.get(SECOND_STEP_COOKIE, ""), languages_of(form)
    try:
        token = steps.finish(ticket, {"code": form.get("factor_code", "")[:MAX_FACTOR_TEXT]})
    except errors.SecondFactorFailed:
        return _page(languages, 401, takes_factor=True, problem=True)
    except (errors.InvalidTicket, errors.LoginFailed):
        return _page(languages, 401, expired=True)
    except errors.TooManyRequests as error:
        response = _page(languages, 429, takes_factor=True, problem=True)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    return _logged_in(token, SECOND_STEP_COOKIE, languages)


def _set_ticket_cookie(response: Response, ticket: str) -> None:
    """If logins set cookies, let browsers also log in by the link in the mail."""
    if current_app.config["TOKEN_MIDDLEWARE"] is not None:
        set_login_flow_cookie(response, TICKET_COOKIE, ticket, service.CODE_LIFETIME)


def _logged_in(token: IssuedToken, over: str, languages: Sequence[str]) -> Response:
    """Show that the browser is logged in; delete the login's cookie."""
    response = _page(languages, 200, done=True)
    set_cookie(response, token.id, token.ttl, token.remember_me)
    clear_login_flow_cookie(response, over)
    return response


def _page(languages: Sequence[str], status: int, **context: object) -> Response:
    return render_page("login_code.html", status, languages, **context)
