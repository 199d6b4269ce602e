"""Methods that are switched off and on in JSON: `sharedMethods`, `disableRemoteMethodByName`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.properties.declaration import Declaration
from app.rest.endpoint import Endpoint
from app.rest.shared_methods import ineffective, unknown_methods

REMOTING, SHARED, DISABLED = "remoting", "sharedMethods", "disableRemoteMethodByName"


@dataclass
class Switches:
    """Whether methods of a model are switched off (false) or on, by name."""

    shared: dict[str, Declaration] = field(default_factory=dict)
    # Methods that `sharedMethods` cannot switch on again.
    disabled: dict[str, Declaration] = field(default_factory=dict)

    def read(self, declared: Declaration) -> None:
        """Apply the switches of a model or of its options, which precede those already known."""
        remoting = declared[REMOTING]
        remoting.check_object()
        remoting.check_keys([SHARED])
        self.shared |= _shared(remoting[SHARED]) | _shared(declared[SHARED])
        self.disabled |= _disabled(declared[DISABLED])

    def usable(self, endpoints: Sequence[Endpoint]) -> dict[str, bool]:
        """Return the methods that are switched off and on, of all given; report unknown names."""
        switches = {**self.shared, **self.disabled}
        values = {name: declared.value is True for name, declared in switches.items()}
        unknown = unknown_methods(endpoints, values)
        for name, reason in ineffective(endpoints, values):
            switch = switches[name]
            (switch.report_unknown if name in unknown else switch.warn)(reason)
        return {name: value for name, value in values.items() if name not in unknown}


def _shared(methods: Declaration) -> dict[str, Declaration]:
    switches = methods.entries()
    for switch in switches.values():
        if not isinstance(switch.value, bool):
            switch.add("must be true or false")
    return {name: switch for name, switch in switches.items() if isinstance(switch.value, bool)}


def _disabled(declared: Declaration) -> dict[str, Declaration]:
    names = [declared.value] if isinstance(declared.value, str) else declared.value or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        declared.add("must be the name of a method, or a list of names")
        return {}
    return dict.fromkeys(names, declared.with_value(False))
