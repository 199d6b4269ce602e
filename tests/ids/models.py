"""Models with ids of each kind: countries by code, devices, measurements, and their tags."""

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import EVERYONE, allow
from app.database.ids import IntegerId, ObjectId, RowId, TextId, UuidId
from app.fields.base import Id, Schema, Text
from app.ids import Id as IdValue
from app.rest.relations import belongs_to, has_many, has_many_through
from app.rest.resource import Resource


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Country(Base):
    __tablename__ = "countries"

    id: Mapped[str] = mapped_column(TextId(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Device(Base):
    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(UuidId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    country_id: Mapped[str | None] = mapped_column(ForeignKey("countries.id"))


class Measurement(Base):
    __tablename__ = "measurements"

    id: Mapped[str] = mapped_column(ObjectId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    device_id: Mapped[str | None] = mapped_column(ForeignKey("devices.id"))


class Tag(Base):
    __tablename__ = "tags"

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Tagging(Base):
    """A link that is no resource, with an id."""

    __tablename__ = "taggings"

    id: Mapped[str] = mapped_column(UuidId, primary_key=True)
    tag_id: Mapped[int] = mapped_column(ForeignKey("tags.id"))
    device_id: Mapped[str] = mapped_column(ForeignKey("devices.id"))


class Remark(Base):
    """A row with an id as users have it, of a user."""

    __tablename__ = "remarks"

    id: Mapped[IdValue] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    user_id: Mapped[IdValue | None] = mapped_column(RowId)


class CountrySchema(Schema):
    id = Id(TextId(40), dump_only=True)
    name = Text(50, required=True)


class DeviceSchema(Schema):
    id = Id(UuidId, dump_only=True)
    name = Text(50, required=True)
    countryId = Id(TextId(40), attribute="country_id", allow_none=True, load_default=None)  # noqa: N815


class MeasurementSchema(Schema):
    id = Id(ObjectId, dump_only=True)
    name = Text(50, required=True)
    deviceId = Id(UuidId, attribute="device_id", allow_none=True, load_default=None)  # noqa: N815


class TagSchema(Schema):
    id = Id(IntegerId, dump_only=True)
    name = Text(50, required=True)


class RemarkSchema(Schema):
    id = Id(dump_only=True)
    name = Text(50, required=True)
    userId = Id(attribute="user_id", allow_none=True, load_default=None)  # noqa: N815


def rules(settings):
    return [allow(EVERYONE)]


def resources():
    """Return the resources; clients choose the ids of countries and tags."""
    tags = has_many_through("tags", Tagging, "device_id", "tag_id")
    return [
        Resource(
            "countries",
            "country",
            Country,
            CountrySchema,
            rules,
            relations={"devices": has_many("devices", "country_id")},
            id_on_create=True,
        ),
        Resource(
            "devices",
            "device",
            Device,
            DeviceSchema,
            rules,
            relations={
                "country": belongs_to("countries", "country_id"),
                "measurements": has_many("measurements", "device_id"),
                "tags": tags,
            },
        ),
        Resource(
            "measurements",
            "measurement",
            Measurement,
            MeasurementSchema,
            rules,
            relations={"device": belongs_to("devices", "device_id")},
        ),
        Resource("tags", "tag", Tag, TagSchema, rules, id_on_create=True),
        Resource(
            "remarks",
            "remark",
            Remark,
            RemarkSchema,
            rules,
            owner=Remark.user_id,
            relations={"user": belongs_to("users", "user_id")},
        ),
    ]
