"""The log of changes: of the models that opt in, whatever writes their rows.

Triggers of the database write it, so that other models cost nothing. Off unless a model opts in.
"""

from importlib import import_module

from flask import Flask

from app.database.metadata import derived_objects
from app.database.purging import purger

from .actors import note_actors
from .log import purge_batch
from .models import Change
from .triggers import Triggers
from .watched import find_watched, watched_models


def init_app(app: Flask) -> None:
    """Record the changes of the models that opt in; raise ConfigurationError."""
    purger.of(app).add(Change.__tablename__, purge_batch)
    watched = find_watched(app)
    watched_models.set(app, watched)
    derived_objects.set(app, Triggers(watched))
    for model in watched.values():
        note_actors(model.collection)
    if watched:
        # Imported only by apps that serve changes.
        import_module("app.changes.endpoints").init_app(app)
