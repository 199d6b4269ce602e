"""Mixins of models in JSON; only TimeStamp is supported."""

from dataclasses import replace

from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import MAPPINGS, Property, read_property
from app.times import now

from .bases import MergedModel

# The names of the mixin of loopback-ds-timestamp-mixin.
TIME_STAMP = ("timestamp", "timestamps")


def read_times(merged: MergedModel) -> dict[str, Property]:
    """Return the properties of the mixin TimeStamp; warn of other mixins."""
    mixins = merged.declared.at("mixins", merged.settings.get("mixins") or {})
    times: dict[str, Property] = {}
    for name, mixin in mixins.entries().items():
        if not mixin.value and mixin.value != {}:
            continue
        if name.lower() in TIME_STAMP:
            times |= _times(mixin, merged)
        else:
            mixin.warn(f"there is no such mixin; write it in {merged.source.code.name}")
    return times


def _times(mixin: Declaration, merged: MergedModel) -> dict[str, Property]:
    """Return the times that the service sets; they replace properties of the same names."""
    times = {}
    for key, on_change in (("createdAt", None), ("updatedAt", now)):
        name = str(mixin.mapping.get(key) or key)
        columns = _columns(merged.properties[name].mapping) if name in merged.properties else {}
        stamp = {"type": "date", "required": True, "readOnly": True, "defaultFn": "now"}
        if time := read_property(name, mixin.with_value({**columns, **stamp})):
            times[name] = replace(time, on_change=on_change)
    return times


def _columns(declared: JsonObject) -> JsonObject:
    return {key: declared[key] for key in MAPPINGS if key in declared}
