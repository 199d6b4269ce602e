"""The page that a mailed link opens: a button for the browser that requested the code.

Any other browser shows the code, to be typed where the login was begun.
"""

import re
from collections.abc import Sequence

from flask import Blueprint, Response, current_app, request
from flask.typing import ResponseReturnValue

from app import errors
from app.factors import steps
from app.factors.steps import TICKET_LIFETIME
from app.http.templates import languages_of, render_page
from app.observability.origin import current_languages
from app.rest.requests.bodies import read_body
from app.users.schemas import MAX_FACTOR_TEXT
from app.users.sessions.cookies import (
    SECOND_STEP_COOKIE,
    clear_login_flow_cookie,
    set_cookie,
    set_login_flow_cookie,
)
from app.users.sessions.tokens import IssuedToken

from . import service
from .service import DIGITS

bp = Blueprint("mailed_login", __name__)

# The cookie of the browser that requested a code.
TICKET_COOKIE = "login_ticket"
CODE = re.compile(rf"[0-9]{{{DIGITS}}}", re.ASCII)


def set_ticket_cookie(response: Response, ticket: str) -> None:
    """If logins set cookies, let browsers also log in by the link in the mail."""
    if current_app.config["TOKEN_MIDDLEWARE"] is not None:
        set_login_flow_cookie(response, TICKET_COOKIE, ticket, service.CODE_LIFETIME)


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
        set_login_flow_cookie(response, SECOND_STEP_COOKIE, error.ticket, TICKET_LIFETIME)
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


def _logged_in(token: IssuedToken, over: str, languages: Sequence[str]) -> Response:
    """Show that the browser is logged in; delete the login's cookie."""
    response = _page(languages, 200, done=True)
    set_cookie(response, token.id, token.ttl, token.remember_me)
    clear_login_flow_cookie(response, over)
    return response


def _page(languages: Sequence[str], status: int, **context: object) -> Response:
    return render_page("login_code.html", status, languages, **context)
