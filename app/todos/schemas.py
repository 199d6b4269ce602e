"""The schema of to-dos."""

from app.fields.base import Boolean, Id, Schema, Text, Timestamp, not_blank


class TodoSchema(Schema):
    """A to-do."""

    id = Id(dump_only=True)
    title = Text(
        255, required=True, validate=not_blank, metadata={"examples": ["Water the plants"]}
    )
    desc = Text(
        10_000,
        multiline=True,
        allow_none=True,
        load_default=None,
        metadata={"examples": ["The fern too"]},
    )
    isComplete = Boolean(attribute="is_complete", load_default=False)  # noqa: N815
    created = Timestamp(dump_only=True)
    ownerId = Id(attribute="owner_id", dump_only=True)  # noqa: N815
