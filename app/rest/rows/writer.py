"""Writing the rows of a repository, calling the hooks of its resource."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from app.access.identity import current_identity
from app.database.session import in_transaction, savepoint
from app.errors import TooManyRows
from app.ids import Id
from app.state import AppState

from .files import InsertRows, StoreRows, keeping_files, replacing_files
from .hooks import DeleteEvent, Hook, Item, SavedValues, SaveEvent
from .limits import Limits, Parents
from .repository import Repository
from .scopes import MAX_CHECKED, Outcome
from .values import Condition, Conditions, NewRow, Row, Values

#: Maximum rows that one request changes or deletes if hooks are called.
MAX_ROWS = 500
# Raises an error for a row that must not be changed.
Check = Callable[[Row], None]


class Hooks(Protocol):
    """A resource with hooks."""

    @property
    def name(self) -> str:
        """Its name in rules."""

    @property
    def before_save(self) -> Hook:
        """Sent before a row is created or changed."""

    @property
    def after_save(self) -> Hook:
        """Sent afterwards."""

    @property
    def before_delete(self) -> Hook:
        """Sent before a row is deleted."""

    @property
    def after_delete(self) -> Hook:
        """Sent afterwards."""


class Writer:
    """Writes rows: by one statement, or, if there are hooks, one by one in a transaction.

    The hooks of a row therefore see the rows before it. With a permission for some rows, callers
    pass the `required` conditions of a WriteScope: if a row does not meet them after its hooks were
    called, the access error is raised and nothing is stored. If there are too many rows by one of
    the `limits` afterwards, LimitReached is.
    """

    def __init__(
        self,
        resource: Hooks,
        rows: Repository,
        new: SavedValues,
        changed: SavedValues,
        limits: Limits | None = None,
    ) -> None:
        """Write the rows of a resource; hooks see `new` and `changed` of the values."""
        self._resource, self._rows, self._limits = resource, rows, limits
        self._new, self._changed = new, changed
        # Computed properties are read in the transaction of a write, after its hooks.
        self._computes = bool(rows.shown.computed)
        self._insert_rows: InsertRows = rows.insert
        self._update_rows: StoreRows = rows.update
        self._replace_rows: StoreRows = rows.replace
        if rows.files:
            self._insert_rows = keeping_files(rows.insert)
            self._update_rows = replacing_files(rows, rows.update)
            self._replace_rows = replacing_files(rows, rows.replace)
        self._before, self._after = resource.before_save, resource.after_save
        # Called before each write, once its values are prepared.
        self.before_write: Callable[[], None] = rows.reader.note_write

    def insert(
        self,
        items: Sequence[NewRow],
        required: Sequence[Condition] = (),
        link: Callable[[Sequence[Row]], None] | None = None,
    ) -> Sequence[Row]:
        """Store new rows, all or none; return them in the same order.

        `link` is called with the rows before the check, in the same transaction, for changes by
        which they meet the conditions.
        """
        self.before_write()
        if not required and link is None and self._limits is None and not self._computes:
            return self._insert(items)
        outcome = self._outcome(required) if required else None
        with self._transaction(self._limits):
            rows = self._insert(items, outcome)
            if link is not None:
                link(rows)
            if outcome:
                outcome.check([row.id for row in rows])
            if self._limits:
                self._limits.check([row.id for row in rows])
            return self._rows.complete(rows)

    def check_written(self, row_ids: Sequence[Id], required: Sequence[Condition]) -> None:
        """Raise the access error if rows do not meet conditions, within a transaction.

        For changes of rows without this writer, such as links between them.
        """
        if required:
            self._outcome(required).check(row_ids)

    def _outcome(self, required: Sequence[Condition]) -> Outcome:
        return Outcome(self._rows, self._resource.name, required)

    def _insert(self, items: Sequence[NewRow], outcome: Outcome | None = None) -> Sequence[Row]:
        """Store new rows, calling the hooks."""
        if not (self._before.receivers or self._after.receivers):
            if outcome:
                outcome.check_new(items)
            return self._insert_rows(items)
        rows: list[Row] = []
        with self._rows.transaction():
            for item in items:
                new = self._before_save(self._new, item, None)
                if outcome:
                    outcome.check_new([new])
                [row] = self._rows.complete(self._insert_rows([new]))
                self._after_save(self._new.of(new), row, is_new=True)
                rows.append(row)
        return rows

    def update(
        self,
        conditions: Conditions,
        values: Values,
        check: Check | None = None,
        required: Sequence[Condition] = (),
    ) -> Sequence[Row]:
        """Change every row that meets the conditions; return the changed rows.

        `check` is called before the hooks with the only row, which is locked. Raises TooManyRows if
        there are hooks or limits.
        """
        return self._change(conditions, values, self._update_rows, check, required)

    def replace(
        self,
        conditions: Conditions,
        values: Values,
        check: Check | None = None,
        required: Sequence[Condition] = (),
    ) -> Sequence[Row]:
        """Replace every row that meets the conditions by complete values; return the new rows.

        `check` is as for `update`. Raises TooManyRows if there are hooks.
        """
        return self._change(conditions, values, self._replace_rows, check, required)

    def _change(
        self,
        conditions: Conditions,
        values: Values,
        store: StoreRows,
        check: Check | None,
        required: Sequence[Condition],
    ) -> Sequence[Row]:
        chosen = list(conditions)
        values = self._rows.prepare_update(chosen, values)
        self.before_write()
        limits = self._limits and self._limits_on(values)
        if check is None and not required and limits is None and not self._computes:
            return self._store(chosen, values, store)
        outcome = self._outcome(required) if required else None
        with self._transaction(limits):
            if check is not None:
                self._check(chosen, check)
            parents = self._lock_limited(chosen, limits)
            rows = self._store(chosen, values, store, outcome)
            if outcome:
                outcome.check([row.id for row in rows])
            if limits:
                limits.check([row.id for row in rows], parents)
            return self._rows.complete(rows)

    @staticmethod
    def _lock_limited(chosen: list[Condition], limits: Limits | None) -> Parents:
        """Return to which rows those that meet the conditions belong, and choose only these."""
        if limits is None:
            return {}
        parents = limits.parents(chosen)
        chosen.append(limits.locked(parents))
        return parents

    def _limits_on(self, values: Values) -> Limits | None:
        """Return the limits if a change to these values, or what hooks change, may reach them."""
        if self._limits and (self._before.receivers or self._limits.concern(values)):
            return self._limits
        return None

    def _store(
        self, chosen: Conditions, values: Values, store: StoreRows, outcome: Outcome | None = None
    ) -> Sequence[Row]:
        """Change rows by a function of the repository, calling the hooks."""
        if not (self._before.receivers or self._after.receivers):
            if outcome:
                outcome.check_change(chosen, values)
            return store(chosen, values)
        changed: list[Row] = []
        with self._rows.transaction():
            for row in self._lock_all(chosen):
                given = self._before_save(self._changed, values, row)
                if outcome:
                    outcome.check_change([self._rows.by_id(row.id)], given)
                # None if a hook has deleted it.
                for stored in self._rows.complete(store([self._rows.by_id(row.id)], given)):
                    self._after_save(self._changed.of(given), stored, is_new=False)
                    changed.append(stored)
        return changed

    def _transaction(self, limits: Limits | None) -> AbstractContextManager[None]:
        """Return the context of a change: with limits, nothing remains of one that is refused.

        Hooks may catch the error within their transaction.
        """
        return savepoint() if limits else self._rows.transaction()

    def update_all(
        self, conditions: Conditions, values: Values, required: Sequence[Condition] = ()
    ) -> int:
        """Change every row that meets the conditions; return their number.

        Raises TooManyRows if there are hooks, required conditions or limits.
        """
        changes_files = not self._rows.files.keys().isdisjoint(values)
        if changes_files or self._before.receivers or self._after.receivers:
            return len(self.update(conditions, values, required=required))
        chosen = list(conditions)
        values = self._rows.prepare_update(chosen, values)
        self.before_write()
        limits = self._limits and self._limits_on(values)
        if not required and limits is None:
            return self._rows.update_all(chosen, values)
        outcome = self._outcome(required) if required else None
        with self._transaction(limits):
            if outcome:
                outcome.check_change(chosen, values)
            parents = self._lock_limited(chosen, limits)
            row_ids = self._rows.update_ids(chosen, values, MAX_CHECKED)
            if outcome:
                outcome.check(row_ids)
            if limits:
                limits.check(row_ids, parents)
        return len(row_ids)

    def delete(self, conditions: Conditions, check: Check | None = None) -> int:
        """Delete every row that meets the conditions; return their number.

        `check` is as for `update`. Raises TooManyRows if there are hooks.
        """
        self.before_write()
        if check is None:
            return self._delete(conditions)
        chosen = list(conditions)
        with self._rows.transaction():
            self._check(chosen, check)
            return self._delete(chosen)

    def _delete(self, conditions: Conditions) -> int:
        """Delete rows, calling the hooks."""
        before, after = self._resource.before_delete, self._resource.after_delete
        if not (before.receivers or after.receivers):
            return self._rows.delete(conditions)
        count = 0
        with self._rows.transaction():
            for row in self._lock_all(conditions):
                before.send(self._resource, event=DeleteEvent(current_identity(), row))
                # None if a hook has deleted it.
                if self._rows.delete([self._rows.by_id(row.id)]):
                    after.send(self._resource, event=DeleteEvent(current_identity(), row))
                    count += 1
        return count

    def lock(self, row_id: Id) -> None:
        """Lock a row until the end of the transaction; others that lock it wait.

        Raises RuntimeError outside of a transaction.
        """
        if not in_transaction():
            raise RuntimeError("a row is locked until the end of a transaction: there is none")
        self._rows.lock(row_id)

    def _check(self, conditions: Conditions, check: Check) -> None:
        """Lock and check the only row that meets the conditions, if there is one."""
        for row in self._rows.lock_all(conditions, 1):
            check(row)

    def _before_save(self, known: SavedValues, item: Item, row: Row | None) -> Item:
        """Call `before_save` for a row; return the values to store."""
        event = SaveEvent(current_identity(), known.of(item), row, is_new=row is None)
        self._before.send(self._resource, event=event)
        return known.put(item, event.values)

    def _after_save(self, values: Values, row: Row, is_new: bool) -> None:
        event = SaveEvent(current_identity(), values, row, is_new)
        self._after.send(self._resource, event=event)

    def _lock_all(self, conditions: Conditions) -> Sequence[Row]:
        """Return the rows that meet the conditions, locked until the end of the transaction."""
        found = self._rows.lock_all(conditions, MAX_ROWS + 1)
        if len(found) > MAX_ROWS:
            raise TooManyRows(MAX_ROWS)
        return found


# The writers of an app's resources by name, used if application code calls the declarations.
writers = AppState[dict[str, Writer]]("writers", factory=lambda _app: {})
