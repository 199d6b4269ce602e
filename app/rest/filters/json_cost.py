"""Limits on how much of a filter reads the JSON of every row, its includes counted too."""

from dataclasses import dataclass

from app.errors import InvalidFilter

#: Values that a filter and its includes compare with objects, arrays and positions.
MAX_IN_JSON = 20
#: Conditions of a filter and its includes on arrays: each goes through the items of every row.
MAX_ARRAYS = 2
#: Paths such as `address.city` that a filter and its includes order by.
MAX_PATH_ORDER = 3


@dataclass(frozen=True)
class JsonCost:
    """How many operands, conditions on arrays and paths to order by a filter has."""

    operands: int = 0
    arrays: int = 0
    orders: int = 0

    def __add__(self, other: "JsonCost") -> "JsonCost":
        return JsonCost(
            self.operands + other.operands,
            self.arrays + other.arrays,
            self.orders + other.orders,
        )

    def check(self) -> None:
        """Raise InvalidFilter if there are too many."""
        if self.operands > MAX_IN_JSON:
            raise InvalidFilter(
                f"A filter compares at most {MAX_IN_JSON} values with objects, arrays and"
                " positions."
            )
        if self.arrays > MAX_ARRAYS:
            raise InvalidFilter(
                f"A filter has at most {MAX_ARRAYS} conditions on arrays; inq compares several"
                " values."
            )
        if self.orders > MAX_PATH_ORDER:
            raise InvalidFilter(f"order must not have more than {MAX_PATH_ORDER} paths.")
