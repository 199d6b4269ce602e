"""The settings, which are read-only."""

from collections.abc import Mapping, Sequence

from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import SettingSchema
from app.admin.settings import list_settings


@call("findSettings", READ, "GET /settings", answer=[SettingSchema])
def find_settings() -> Sequence[Mapping[str, object]]:
    """List the settings with their values, secrets masked, and the source of each."""
    return list_settings()
