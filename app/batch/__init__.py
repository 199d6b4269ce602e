"""Several calls of rows as one: `POST {base}/batch`, in one transaction."""

from flask import Flask

from app.access.rules import EVERYONE, allow
from app.rest.endpoint import Endpoints, register_endpoints

from .endpoint import MODEL, endpoint


def init_app(app: Flask) -> None:
    """Serve batches, unless something else of the project has their name or path."""
    path = f"{app.config['REST_API_ROOT']}/{MODEL}"
    served = (rule.rule.lower() for rule in app.url_map.iter_rules())
    if MODEL in app.blueprints or any(f"{rule}/".startswith(f"{path}/".lower()) for rule in served):
        app.logger.warning("batches are not served: the project has a model batch, or %s", path)
        return
    # The rules for its calls decide on each of them.
    register_endpoints(app, Endpoints(MODEL, [endpoint], [allow(EVERYONE)]))
