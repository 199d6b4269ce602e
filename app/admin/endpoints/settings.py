"""The settings, which are read and never changed."""

from collections.abc import Mapping, Sequence

from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import SettingSchema
from app.admin.settings import list_settings


@call("findSettings", READ, "GET /settings", answer=[SettingSchema])
def find_settings() -> Sequence[Mapping[str, object]]:
    """List the settings with their values, secrets masked, and where each comes from."""
    return list_settings()
