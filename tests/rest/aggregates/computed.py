"""Aggregates of rows in JSON, computed in Python."""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal


def start_of(name, unit, text):
    """Return the start of a unit as JSON has it, from the JSON of a time or a date."""
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    if unit == "week":
        time -= timedelta(days=time.weekday())
    at = {"year": {"month": 1, "day": 1}, "month": {"day": 1}}.get(unit, {})
    hour = time.hour if unit == "hour" else 0
    time = time.replace(hour=hour, minute=0, second=0, microsecond=0, **at)
    return time.date().isoformat() if name == "day" else f"{time:%Y-%m-%dT%H}:00:00.000Z"


def at_path(row, path):
    """Return the value at a path such as `site.name`: None if a row is missing."""
    for name in path.split("."):
        row = (row or {}).get(name)
    return row


def key_of(row, groups):
    return tuple(
        at_path(row, group)
        if isinstance(group, str)
        else start_of(*next(iter(group.items())), at_path(row, name))
        for group in groups
        for name in [group if isinstance(group, str) else next(iter(group))]
    )


def sort_key(values):
    """Null first, then by value; decimals by their number, texts by code point."""

    def one(value):
        try:
            return Decimal(value)
        except (ArithmeticError, TypeError, ValueError):
            return value

    return [(value is not None, 0 if value is None else one(value)) for value in values]


def compute(word, name, rows):
    if name == "*":
        return len(rows)
    values = [row[name] for row in rows if row[name] is not None]
    if word in ("count", "countDistinct"):
        return len(values if word == "count" else set(values))
    if not values:
        return None
    if name == "price":
        return compute_price(word, list(map(Decimal, values)))
    if word == "avg":
        return float(sum(values)) / len(values)
    return {"sum": sum, "min": min, "max": max}[word](values)


def compute_price(word, values):
    if word == "avg":
        mean = sum(values) / len(values)
        return f"{mean.quantize(Decimal('1E-7'), ROUND_HALF_UP):f}"
    return f"{ {'sum': sum, 'min': min, 'max': max}[word](values):f}"


def expected(aggregate, rows):
    """Return the objects of an aggregate of rows in JSON, which has no limit."""
    groups = aggregate["groupBy"]
    names = [group if isinstance(group, str) else next(iter(group)) for group in groups]
    found = {} if groups else {(): []}
    for row in rows:
        found.setdefault(key_of(row, groups), []).append(row)
    objects = [
        dict(zip(names, key, strict=True))
        | {
            name: compute(*next(iter(function.items())), of_group)
            for name, function in aggregate["aggregate"].items()
        }
        for key, of_group in sorted(found.items(), key=lambda item: sort_key(item[0]))
    ]
    if "having" in aggregate:
        least = aggregate["having"]["rows"]["gt"]
        objects = [each for each in objects if each["rows"] > least]
    if "order" in aggregate:
        objects.sort(key=lambda each: each["rows"], reverse="DESC" in aggregate["order"][0])
    return objects
