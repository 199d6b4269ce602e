"""Sites with their shifts and teams: who coordinates a site may write what is its."""

from marshmallow import fields
from sqlalchemy import ForeignKey, String, exists, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import AUTHENTICATED, OWNER, READ, allow
from app.database.ids import RowId
from app.fields.base import Integer, Schema, Text
from app.rest.relations import belongs_to, has_many, has_many_through, has_one
from app.rest.resource import Resource

COORDINATOR = "coordinator"


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Site(Base):
    __tablename__ = "sites"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Coordinator(Base):
    """Who coordinates a site."""

    __tablename__ = "coordinators"

    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(primary_key=True)


class Shift(Base):
    __tablename__ = "shifts"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(50))
    site_id: Mapped[int | None] = mapped_column(ForeignKey("sites.id"))
    owner_id: Mapped[int | None]


class Team(Base):
    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Assignment(Base):
    """A team at a site."""

    __tablename__ = "assignments"

    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"), primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"), primary_key=True)


class Membership(Base):
    """A member of a site, as a row that members write."""

    __tablename__ = "memberships"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"))
    user_id: Mapped[int]
    note: Mapped[str | None] = mapped_column(String(50))


class Badge(Base):
    """A member with a badge of a site."""

    __tablename__ = "badges_of_sites"

    site_id: Mapped[int] = mapped_column(ForeignKey("sites.id"), primary_key=True)
    membership_id: Mapped[int] = mapped_column(ForeignKey("memberships.id"), primary_key=True)


class SiteSchema(Schema):
    id = fields.Integer(dump_only=True)
    name = Text(50, required=True)


class ShiftSchema(Schema):
    id = fields.Integer(dump_only=True)
    title = Text(50, required=True)
    siteId = Integer(attribute="site_id", allow_none=True, load_default=None)  # noqa: N815
    ownerId = Integer(attribute="owner_id", allow_none=True, load_default=None)  # noqa: N815


class TeamSchema(Schema):
    id = fields.Integer(dump_only=True)
    name = Text(50, required=True)


class MembershipSchema(Schema):
    id = fields.Integer(dump_only=True)
    siteId = Integer(attribute="site_id", required=True)  # noqa: N815
    userId = Integer(attribute="user_id", required=True)  # noqa: N815
    note = Text(50, allow_none=True, load_default=None)


def sites_of(user_id):
    return select(Coordinator.site_id).where(Coordinator.user_id == user_id)


def coordinates(user_id):
    """Return the condition that a user coordinates a site."""
    return Site.id.in_(sites_of(user_id))


def coordinates_site_of(user_id):
    """Return the condition that a user coordinates the site of a shift."""
    return Shift.site_id.in_(sites_of(user_id))


def coordinates_sites_of(user_id):
    """Return the condition that a user coordinates each site of a team, which has one."""
    own = sites_of(user_id)
    at = exists().where(Assignment.team_id == Team.id)
    return at.where(Assignment.site_id.in_(own)) & ~at.where(Assignment.site_id.not_in(own))


def resources(shift_rules=None, team_rules=None, **shift_options):
    """Return the resources; everybody who is logged in reads them."""
    readable = allow(AUTHENTICATED, access=READ)
    by_coordinators = [allow(COORDINATOR), readable]
    return [
        Resource(
            "sites",
            "site",
            Site,
            SiteSchema,
            lambda _: by_coordinators,
            roles={COORDINATOR: coordinates},
            relations={
                "shifts": has_many("shifts", "site_id"),
                "next": has_one("shifts", "site_id"),
                "teams": has_many_through("teams", Assignment, "site_id", "team_id"),
            },
        ),
        Resource(
            "shifts",
            "shift",
            Shift,
            ShiftSchema,
            lambda _: shift_rules or [*by_coordinators, allow(OWNER)],
            owner=Shift.owner_id,
            roles={COORDINATOR: coordinates_site_of},
            relations={"site": belongs_to("sites", "site_id")},
            **shift_options,
        ),
        Resource(
            "teams",
            "team",
            Team,
            TeamSchema,
            lambda _: team_rules or by_coordinators,
            roles={COORDINATOR: coordinates_sites_of},
            relations={
                "sites": has_many_through("sites", Assignment, "team_id", "site_id"),
            },
        ),
    ]


def is_member_of_site_of(user_id):
    """Return the condition that a user is a member of the site of another one."""
    own = select(Membership.site_id).where(Membership.user_id == user_id)
    return Membership.site_id.in_(own)


def memberships(role=is_member_of_site_of, rules=None):
    """Return the resource of members, which members of the same site write."""
    return Resource(
        "memberships",
        "membership",
        Membership,
        MembershipSchema,
        lambda _: rules or [allow("member"), allow(AUTHENTICATED, access=READ)],
        roles={"member": role},
        relations={"site": belongs_to("sites", "site_id")},
    )
