"""Resources: models as REST collections, with relations, hooks and endpoints of their own.

A file of the project's folder `models` declares a table, a schema and a resource::

    # models/book.py
    from collections.abc import Sequence

    from flask import Flask
    from sqlalchemy import ForeignKey, Select, String, func, select
    from sqlalchemy.orm import Mapped, mapped_column

    from ostiary import fields
    from ostiary.columns import Id, Json, RowId
    from ostiary.database import Model
    from ostiary.errors import AccessDenied
    from ostiary.identity import current_identity
    from ostiary.resources import (
        Conditions,
        DeleteEvent,
        Limit,
        LoadEvent,
        Readable,
        Relation,
        Repository,
        Resource,
        Row,
        SaveEvent,
        Values,
        add_relation,
        belongs_to,
        belongs_to_any,
        embeds_many,
        embeds_one,
        has_many,
        has_many_through,
        has_one,
        references_many,
    )
    from ostiary.rules import ADMIN, AUTHENTICATED, EVERYONE, EXECUTE, OWNER, READ, allow


    class Author(Model):
        __tablename__ = "authors"

        id: Mapped[Id] = mapped_column(RowId, primary_key=True)
        name: Mapped[str] = mapped_column(String(100))


    class Book(Model):
        __tablename__ = "books"

        id: Mapped[Id] = mapped_column(RowId, primary_key=True)
        title: Mapped[str] = mapped_column(String(100))
        author_id: Mapped[Id] = mapped_column(ForeignKey("authors.id"), index=True)
        similar_ids: Mapped[list[int]] = mapped_column(Json(list, float))
        publisher: Mapped[dict[str, str] | None] = mapped_column(Json(dict))
        editions: Mapped[list[dict[str, str]]] = mapped_column(Json(list))


    class Loan(Model):
        __tablename__ = "loans"

        id: Mapped[Id] = mapped_column(RowId, primary_key=True)
        book_id: Mapped[Id] = mapped_column(ForeignKey("books.id"), unique=True)
        reader_id: Mapped[Id] = mapped_column(ForeignKey("users.id"), index=True)


    class Remark(Model):
        __tablename__ = "remarks"

        id: Mapped[Id] = mapped_column(RowId, primary_key=True)
        text: Mapped[str] = mapped_column(String(100))
        subject_id: Mapped[Id] = mapped_column(RowId, index=True)
        subject_type: Mapped[str] = mapped_column(String(20))


    class AuthorSchema(fields.Schema):
        id = fields.Id(dump_only=True)
        name = fields.Text(100, required=True)


    class BookSchema(fields.Schema):
        id = fields.Id(dump_only=True)
        title = fields.Text(100, required=True)
        authorId = fields.Id(attribute="author_id", required=True)
        similarIds = fields.Array(float, attribute="similar_ids", load_default=[])
        publisher = fields.Object(allow_none=True, load_default=None)
        editions = fields.Array(dict, load_default=[])


    class LoanSchema(fields.Schema):
        id = fields.Id(dump_only=True)
        bookId = fields.Id(attribute="book_id", required=True)
        readerId = fields.Id(attribute="reader_id", dump_only=True)


    class RemarkSchema(fields.Schema):
        id = fields.Id(dump_only=True)
        text = fields.Text(100, required=True)
        subjectId = fields.Id(attribute="subject_id", required=True)
        subjectType = fields.Text(20, attribute="subject_type", required=True)


    class BookRows(Repository):
        '''Books are stored with their title on one line.'''

        def insert(self, items: Sequence[Values]) -> Sequence[Row]:
            return super().insert(
                [{**item, "title": " ".join(item["title"].split())} for item in items]
            )

        def delete(self, conditions: Conditions) -> int:
            raise AccessDenied("Books are never deleted.")


    relations_of_books: dict[str, Relation] = {
        "author": belongs_to("authors", "author_id"),
        "loan": has_one("loans", "book_id"),
        "readers": has_many_through("users", Loan, "book_id", "reader_id"),
        "similar": references_many("books", "similar_ids"),
        "publishedBy": embeds_one("publisher"),
        "allEditions": embeds_many("editions"),
    }


    def lent(readable: Readable) -> Select[tuple[int]]:
        '''Return the number of loans that the caller may read.'''
        lent = select(func.count()).where(Loan.book_id == Book.id)
        return lent.where(readable("loans"))


    authors = Resource(
        name="authors",
        singular="author",
        model=Author,
        schema=AuthorSchema,
        rules=lambda settings: [allow(EVERYONE, access=READ), allow(ADMIN)],
        relations={
            "books": has_many("books", "author_id"),
            "remarks": has_many("remarks", "subject_id", "subject_type", "Author"),
        },
    )
    books = Resource(
        name="books",
        singular="book",
        model=Book,
        schema=BookSchema,
        rules=lambda settings: [
            allow(EVERYONE, access=READ),
            allow(AUTHENTICATED, "lend"),
            allow(ADMIN),
        ],
        relations=relations_of_books,
        computed={"lent": lent},
        repository=BookRows,
    )
    loans = Resource(
        name="loans",
        singular="loan",
        model=Loan,
        schema=LoanSchema,
        rules=lambda settings: [allow(AUTHENTICATED, "create"), allow(OWNER), allow(ADMIN)],
        owner=Loan.reader_id,
        relations={
            "book": belongs_to("books", "book_id"),
            "reader": belongs_to("users", "reader_id"),
        },
        limits=[Limit(per="reader", at_most=5, code="TOO_MANY_LOANS")],
    )


    subjects = {"Author": "authors", "Book": "books"}
    remarks = Resource(
        name="remarks",
        singular="remark",
        model=Remark,
        schema=RemarkSchema,
        rules=lambda settings: [allow(ADMIN)],
        relations={"subject": belongs_to_any(subjects, "subject_id", "subject_type")},
    )


    @books.endpoint("lend", EXECUTE, "POST /<id>/lend", answer=LoanSchema)
    def lend(book: Row) -> Row:
        '''Lend a book to the caller.'''
        reader_id = current_identity().require_user()
        [loan] = loans.insert([{"book_id": book.id, "reader_id": reader_id}])
        return loan


    @books.before_save.connect
    def check_title(resource: Resource, event: SaveEvent) -> None:
        if event.values.get("title") == "Untitled":
            raise AccessDenied("A book has a title.")


    @loans.after_delete.connect
    def tell(resource: Resource, event: DeleteEvent) -> None:
        print("returned", event.row.book_id)


    @books.loaded.connect
    def shorten(resource: Resource, event: LoadEvent) -> None:
        event.values["title"] = event.values["title"][:50]


    def init_app(app: Flask) -> None:
        '''Add a relation to users, before they are registered.'''
        rules = [allow(OWNER, "__get__loans")]
        add_relation(app, "users", "loans", has_many("loans", "reader_id"), rules)

`init_app` of `project.py` may register resources as well as files in `models`. `get_resource` finds
them by name, including models in JSON::

    # project.py
    from dataclasses import replace

    from flask import Flask
    from sqlalchemy import select

    from models.book import authors
    from ostiary.database import db
    from ostiary.resources import get_resource, register_resource


    def init_app(app: Flask) -> None:
        register_resource(app, replace(authors, name="writers", singular="writer", relations={}))


    def import_authors(names: list[str]) -> list[str]:
        '''Store authors, with the hooks of the model; return the names of all.'''
        get_resource("authors").insert([{"name": name} for name in names])
        return list(db.session.scalars(select(get_resource("authors").model.name)))
"""

from app.rest.collection import get_resource
from app.rest.relations import (
    Relation,
    belongs_to,
    belongs_to_any,
    embeds_many,
    embeds_one,
    has_many,
    has_many_through,
    has_one,
    references_many,
)
from app.rest.resource import Resource
from app.rest.rows.computed import Readable
from app.rest.rows.hooks import DeleteEvent, LoadEvent, SaveEvent
from app.rest.rows.limits import Limit
from app.rest.rows.repository import Repository
from app.rest.rows.values import Conditions, Row, Values
from app.rest.served_relations import add_relation
from app.rest.views.registration import register_resource

__all__ = [
    "Conditions",
    "DeleteEvent",
    "Limit",
    "LoadEvent",
    "Readable",
    "Relation",
    "Repository",
    "Resource",
    "Row",
    "SaveEvent",
    "Values",
    "add_relation",
    "belongs_to",
    "belongs_to_any",
    "embeds_many",
    "embeds_one",
    "get_resource",
    "has_many",
    "has_many_through",
    "has_one",
    "references_many",
    "register_resource",
]
