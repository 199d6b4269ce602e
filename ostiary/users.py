"""Users: creating, finding and changing them, their roles, passwords and access tokens.

The functions need no request: commands, hooks and endpoints may call them. Their actions are in the
audit log::

    from ostiary.users import (
        User,
        create_user,
        delete_user,
        disable_user,
        enable_user,
        find_user,
        get_user,
        grant_role,
        revoke_role,
        role_names,
    )

    ada = create_user("ada@example.com", "a quiet harbour", roles=["clerk"])
    grant_role(ada.id, "librarian")
    revoke_role(ada.id, "clerk")
    print(role_names(ada.id))  # {'librarian'}

    found: User | None = find_user("ada@example.com")
    disable_user(ada.id)  # ends all sessions
    enable_user(ada.id)
    print(get_user(ada.id).disabled_at)  # None

Access tokens are sessions. `issue_token` opens one for a user whom the application has identified
itself::

    from ostiary.users import IssuedToken, destroy_all_tokens, issue_token, login, logout

    token: IssuedToken = login({"email": "ada@example.com", "password": "a quiet harbour"})
    logout(token.id)
    print(len(issue_token(ada.id, ttl=3600).id))  # 64
    destroy_all_tokens(ada.id)

Passwords and addresses::

    from ostiary.users import (
        change_password,
        request_email_change,
        request_password_reset,
        request_verification,
        set_password,
    )

    change_password(ada.id, "a quiet harbour", "an even quieter harbour")
    set_password(ada.id, "the quietest harbour")  # without the old one
    request_password_reset("ada@example.com")  # mails the link
    request_verification(ada.id)
    request_email_change(ada.id, "ada@example.org", "the quietest harbour")
    delete_user(ada.id)

The links in these mails may lead to routes of the project, and users have hooks like all models::

    # project.py
    from flask import Blueprint, request

    from ostiary.errors import AccessDenied
    from ostiary.users import computes_hash, confirm_email, reset_password, users

    pages = Blueprint("pages", __name__)


    def init_app(app):
        app.register_blueprint(pages)


    @pages.post("/new-password")
    @computes_hash
    def set_new_password():
        reset_password(request.form["access_token"], request.form["password"])
        return "", 204


    @pages.post("/confirm")
    def confirm():
        confirm_email(request.form["token"])
        return "", 204


    @users.before_save.connect
    def only_our_domain(resource, event):
        if not event.values.get("email", "@example.com").endswith(("@example.com", "@example.org")):
            raise AccessDenied("Register with your address at example.com.")
"""

from app.access.roles import grant as grant_role
from app.access.roles import revoke as revoke_role
from app.access.roles import role_names
from app.rest.endpoint import computes_hash
from app.users.models import User
from app.users.resource import users
from app.users.service import (
    IssuedToken,
    change_password,
    confirm_email,
    create_user,
    delete_user,
    destroy_all_tokens,
    disable_user,
    enable_user,
    find_user,
    get_user,
    issue_token,
    login,
    logout,
    request_email_change,
    request_password_reset,
    request_verification,
    reset_password,
    set_password,
)

__all__ = [
    "IssuedToken",
    "User",
    "change_password",
    "computes_hash",
    "confirm_email",
    "create_user",
    "delete_user",
    "destroy_all_tokens",
    "disable_user",
    "enable_user",
    "find_user",
    "get_user",
    "grant_role",
    "issue_token",
    "login",
    "logout",
    "request_email_change",
    "request_password_reset",
    "request_verification",
    "reset_password",
    "revoke_role",
    "role_names",
    "set_password",
    "users",
]
