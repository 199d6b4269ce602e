"""The models that are served."""

from collections.abc import Mapping, Sequence

from app import errors
from app.access.rules import READ
from app.admin.calls import call
from app.admin.models import Schemas, describe, served_models
from app.admin.schemas import CountedModelSchema, ModelSchema


@call("findModels", READ, "GET /models", answer=[ModelSchema])
def find_models() -> Sequence[Mapping[str, object]]:
    """List the models that are served: their schemas, relations and rules."""
    schemas = Schemas.read()
    return [describe(model, schemas) for model in served_models().values()]


@call(
    "findModelById",
    READ,
    "GET /models/<name>",
    answer=CountedModelSchema,
    errors=(errors.ModelNotFound("model", "todos"), errors.RemoteError(500)),
)
def find_model(name: str) -> Mapping[str, object]:
    """Show a model, with the number of its rows."""
    model = served_models().get(name)
    if model is None:
        raise errors.ModelNotFound("model", name)
    rows = None if model.collection is None else model.collection.rows.count([])
    return {**describe(model, Schemas.read()), "rows": rows}
