"""The database: the base class of models, the session, and transactions.

Outside of `transaction`, each statement commits by itself. A hook runs in the transaction of its
row; anything that cannot be rolled back should wait for the commit::

    from sqlalchemy import select, update

    from models.book import Book
    from ostiary.database import Model, after_commit, db, transaction


    def rename_all(names):
        '''Give books new titles, all or none; return how many books there are of each title.'''
        with transaction():
            for old, new in names.items():
                db.session.execute(update(Book).where(Book.title == old).values(title=new))
                after_commit(lambda: print("renamed"))
        return db.session.scalars(select(Book.title)).all()


    def tables():
        return sorted(table.name for table in Model.metadata.sorted_tables)
"""

from app.database.session import Model, after_commit, db, transaction

__all__ = ["Model", "after_commit", "db", "transaction"]
