"""The audit log: who did what to whom."""

from app.audit.entries import Action, AuditRecord, find_records, record

__all__ = ["Action", "AuditRecord", "find_records", "record"]
