"""The outbox: work after a commit that is not lost."""

from app.outbox import Attempt, DeliveryError, UndeliverableError, define, record, subscribe

__all__ = ["Attempt", "DeliveryError", "UndeliverableError", "define", "record", "subscribe"]
