"""Access tokens, which stay valid: they are stored by their digest."""

from collections.abc import Collection
from datetime import datetime, timedelta, tzinfo
from typing import cast

from flask import current_app
from sqlalchemy import Table

from app.times import now
from app.users.models import AccessToken, new_token_values, token_digest

from .batches import Plan, Values
from .fields import NOTE
from .moved import LeftOut, Moved, Refused
from .source_models import SourceModel
from .sources.base import Row
from .user_ids import UserIds
from .values import to_number, to_text, to_time

# Seconds that a token without a ttl is valid in LoopBack.
USUAL_TTL = 1209600.0
# The ttl of a token that never expires.
ETERNAL = -1
# The scope of a token that may do everything.
DEFAULT_SCOPE = "DEFAULT"
# The number of digits of its digest that identify a token in lists.
SHOWN = 12


class Tokens:
    """Converts access tokens that are valid."""

    def __init__(
        self,
        model: SourceModel,
        ids: UserIds,
        eternal: Collection[str],
        zone: tzinfo,
        moved: Moved,
    ) -> None:
        """`eternal` are the models of users whose tokens may never expire."""
        self._model = model
        self._ids = ids
        self._eternal = eternal
        self._zone = zone
        self._moved = moved
        self._now = now()

    def plan(self) -> Plan:
        """Return the plan; positions in the source would be the tokens themselves."""
        table = cast("Table", AccessToken.__table__)
        return Plan(
            self._model,
            table,
            self._convert,
            key=("digest",),
            is_resumable=False,
            properties={"user_id": "userId"},
            alias=self._label,
        )

    def _label(self, row: Row) -> str:
        value = str(row.get(self._model.id_name)).encode(errors="replace").decode()
        return f"sha256:{token_digest(value)[:SHOWN]}"

    def _convert(self, row: Row) -> Values:
        value = row.get(self._model.id_name)
        if not isinstance(value, str) or not value:
            raise Refused("has no value")
        to_text(None, value)
        model = self._check(row)
        user_id = self._ids.find(model, row.get("userId"))
        if user_id is None:
            raise Refused("has no user")
        created = to_time(self._zone, row.get("created") or "")
        if created is None:
            raise Refused("has no time of creation")
        ttl, expires_at = self._life(row, created, model)
        times = {"created": created, "expires_at": expires_at}
        return new_token_values(value, ttl, user_id=user_id, **times)

    def _check(self, row: Row) -> str:
        """Return the model of the user; refuse tokens with scopes, and those of nobody."""
        model, scopes = self._ids.model_of(row.get("principalType")), row.get("scopes")
        if model is None:
            raise Refused("is of another principalType than the users")
        if scopes and scopes not in ([DEFAULT_SCOPE], f'["{DEFAULT_SCOPE}"]', "[]"):
            raise Refused("has scopes, which tokens have for mails only")
        return model

    def _life(self, row: Row, created: datetime, model: str) -> tuple[float, datetime]:
        """Return the ttl and the time of expiry, both within TOKEN_MAX_TTL."""
        given = row.get("ttl")
        ttl = USUAL_TTL if given is None else to_number(given)
        longest = float(current_app.config["TOKEN_MAX_TTL"])
        if ttl == ETERNAL and model not in self._eternal:
            raise LeftOut("have the ttl -1, which LoopBack refuses without allowEternalTokens")
        if ttl <= 0 and ttl != ETERNAL:
            raise LeftOut("have an invalid ttl")
        latest = self._now + timedelta(seconds=longest)
        # A ttl may be longer than a time can express.
        is_long = ttl == ETERNAL or ttl > longest
        ends = latest if ttl == ETERNAL else _after(created, ttl, latest)
        if ends <= self._now:
            raise LeftOut("have expired")
        if is_long:
            text = "would be valid for longer than TOKEN_MAX_TTL, which ends them"
            self._moved.add(self._model.name, NOTE, text, self._label(row))
        return min(longest, longest if is_long else ttl), ends


def _after(created: datetime, ttl: float, latest: datetime) -> datetime:
    """Return the time of expiry, at most the latest."""
    try:
        return min(created + timedelta(seconds=ttl), latest)
    except OverflowError:
        return latest
