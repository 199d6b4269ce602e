"""Findings in an application's JavaScript, from its syntax trees."""

from .finding import Finding, Kind
from .reading import findings

__all__ = ["Finding", "Kind", "findings"]
