"""Look into the tables, and put the past into them."""

from datetime import timedelta
from hashlib import sha256

from flask import Flask
from sqlalchemy import func, select, update

from app.extensions import Model, db, now
from app.users.models import AccessToken, User


def expire(app: Flask, token: str, ago: float = 1) -> None:
    """Make a token one that expired `ago` seconds ago; negative: that has so long to live."""
    row = update(AccessToken).where(AccessToken.digest == sha256(token.encode()).hexdigest())
    with app.app_context():
        db.session.execute(row.values(expires_at=now() - timedelta(seconds=ago)))
        db.session.commit()


def make_old(app: Flask, token: str, seconds: float = 301) -> None:
    """Make a token's login one of so many seconds ago."""
    row = update(AccessToken).where(AccessToken.digest == sha256(token.encode()).hexdigest())
    with app.app_context():
        db.session.execute(row.values(created=now() - timedelta(seconds=seconds)))
        db.session.commit()


def count(app: Flask, model: type[Model]) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(model))


def stored_hash(app: Flask, email: str = "ada@example.com") -> str:
    with app.app_context():
        return db.session.scalar(select(User.password_hash).where(User.email == email))


def store_hash(app: Flask, password_hash: str, email: str = "ada@example.com") -> None:
    with app.app_context():
        db.session.execute(
            update(User).where(User.email == email).values(password_hash=password_hash)
        )
        db.session.commit()
