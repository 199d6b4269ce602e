"""What an application's JavaScript declares and does, found in its syntax trees."""

from .finding import Finding, Kind
from .reading import findings

__all__ = ["Finding", "Kind", "findings"]
