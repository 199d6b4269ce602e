"""The caller of the current request.

The caller is anonymous without a valid access token, in commands, and outside of requests. In hooks
it is `event.caller`::

    from datetime import timedelta

    from ostiary.columns import now
    from ostiary.identity import Identity, LiveToken, current_identity


    def describe_caller() -> str:
        caller: Identity = current_identity()
        if caller.user_id is None:
            return "nobody"
        kind = "personal token" if caller.scopes else "strong" if caller.is_strong else "session"
        return f"user {caller.require_user()}, {kind}, {sorted(caller.roles)}"


    def require_recent_login() -> LiveToken:
        '''Return the caller's session; raise 401 without one, or if it is older than an hour.'''
        caller = current_identity()
        session = caller.require_session()
        if session.created < now() - timedelta(hours=1):
            raise caller.unauthorized()
        return session
"""

from app.access.identity import Identity, LiveToken, current_identity

__all__ = ["Identity", "LiveToken", "current_identity"]
