"""The audit log: who did what to whom, and from where.

The service records its own actions. Actions of a project have a name of letters, digits and `-`,
and are recorded in the transaction of the action::

    from ostiary.audit import Action, AuditRecord, find_records, record
    from ostiary.database import transaction


    def lend(book_id, reader_id):
        with transaction():
            record("book-lent", reader_id, book=book_id)


    def last_login(user_id) -> AuditRecord | None:
        '''Return the record of a user's last login, which has `time`, `address` and `details`.'''
        return next(iter(find_records(1, user_id, Action.LOGIN)), None)
"""

from app.audit.entries import Action, find_records, record
from app.audit.models import AuditRecord

__all__ = ["Action", "AuditRecord", "find_records", "record"]
