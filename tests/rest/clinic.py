"""Related models: rooms, physicians, patients and their appointments, and a physician's badge."""

from marshmallow import fields
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import AUTHENTICATED, OWNER, allow
from app.database.ids import RowId
from app.fields.base import Integer, Schema, Text
from app.rest.relations import belongs_to, has_many, has_many_through, has_one
from app.rest.resource import Resource


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Room(Base):
    __tablename__ = "rooms"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    owner_id: Mapped[int]


class Physician(Base):
    __tablename__ = "physicians"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    room_id: Mapped[int | None] = mapped_column(ForeignKey("rooms.id"))
    owner_id: Mapped[int]


class Badge(Base):
    __tablename__ = "badges"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    text: Mapped[str] = mapped_column(String(50))
    physician_id: Mapped[int] = mapped_column(ForeignKey("physicians.id"))
    owner_id: Mapped[int]


class Patient(Base):
    __tablename__ = "patients"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    owner_id: Mapped[int]


class Appointment(Base):
    __tablename__ = "appointments"

    physician_id: Mapped[int] = mapped_column(
        ForeignKey("physicians.id", ondelete="CASCADE"), primary_key=True
    )
    patient_id: Mapped[int] = mapped_column(
        ForeignKey("patients.id", ondelete="CASCADE"), primary_key=True
    )


class Key(Base):
    """A key of a room, which a user has; users are in another metadata."""

    __tablename__ = "room_keys"

    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(primary_key=True)


class RoomSchema(Schema):
    id = fields.Integer(dump_only=True)
    name = Text(50, required=True)


class PhysicianSchema(Schema):
    id = fields.Integer(dump_only=True)
    name = Text(50, required=True)
    roomId = Integer(attribute="room_id", allow_none=True, load_default=None)  # noqa: N815
    ownerId = fields.Integer(attribute="owner_id", dump_only=True)  # noqa: N815


class BadgeSchema(Schema):
    id = fields.Integer(dump_only=True)
    text = Text(50, required=True)
    physicianId = Integer(attribute="physician_id", required=True)  # noqa: N815


class PatientSchema(Schema):
    id = fields.Integer(dump_only=True)
    name = Text(50, required=True)


def rules(settings):
    """Whoever is logged in may create rows; owners and admins may do everything."""
    return [allow(AUTHENTICATED, "create"), allow(OWNER), allow("admin")]


def resources():
    """Return the resources of the clinic."""
    appointments = has_many_through("patients", Appointment, "physician_id", "patient_id")
    visits = has_many_through("physicians", Appointment, "patient_id", "physician_id")
    return [
        Resource(
            "rooms",
            "room",
            Room,
            RoomSchema,
            rules,
            owner=Room.owner_id,
            relations={
                "physicians": has_many("physicians", "room_id"),
                "holders": has_many_through("users", Key, "room_id", "user_id"),
            },
        ),
        Resource(
            "physicians",
            "physician",
            Physician,
            PhysicianSchema,
            rules,
            owner=Physician.owner_id,
            relations={
                "room": belongs_to("rooms", "room_id"),
                "badge": has_one("badges", "physician_id"),
                "patients": appointments,
            },
        ),
        Resource(
            "badges",
            "badge",
            Badge,
            BadgeSchema,
            rules,
            owner=Badge.owner_id,
            relations={"physician": belongs_to("physicians", "physician_id")},
        ),
        Resource(
            "patients",
            "patient",
            Patient,
            PatientSchema,
            rules,
            owner=Patient.owner_id,
            relations={"physicians": visits},
        ),
    ]
