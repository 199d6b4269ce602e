"""How and when the user of a session was authenticated."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.access.identity import current_identity
from app.database.session import db
from app.times import now
from app.users.models import AccessToken
from app.users.service import issue_token
from tests.support.rows import make_old


def test_a_login_with_a_password_says_so(app, api):
    api.register()
    api.login()
    with app.app_context():
        row = db.session.scalar(select(AccessToken))

    assert (row.methods, row.authenticated_at) == ("pwd", None)


@pytest.mark.parametrize(
    ("methods", "is_strong"),
    [
        ((), False),
        (("pwd",), False),
        (("pwd", "otp", "mfa"), True),
        (("hwk", "user", "mfa"), True),
        (("mfax",), False),
    ],
)
def test_a_session_is_strong_if_several_factors_were_proved(
    app, token, secrets, methods, is_strong
):
    with app.app_context():
        session = issue_token(1, methods=methods)
    secrets.append(session.id)
    with app.test_request_context(headers={"Authorization": session.id}):
        app.preprocess_request()
        found = current_identity()

    assert (found.user_id, found.is_strong) == (1, is_strong)


def test_nobody_is_not_strong(app):
    with app.app_context():
        assert not current_identity().is_strong


def test_a_later_authentication_counts_as_a_recent_login(app, api, token):
    make_old(app, token)
    new = {"email": "countess@example.com"}
    refused = api("PATCH", "/users/1", new, token=token)
    with app.app_context():
        db.session.execute(
            update(AccessToken).values(authenticated_at=now() - timedelta(seconds=290))
        )
        db.session.commit()

    assert refused.status_code == 422
    assert api("PATCH", "/users/1", new, token=token).status_code == 200
