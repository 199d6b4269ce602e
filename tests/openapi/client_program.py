"""Register, log in, create and list with filters, by a client that was generated.

Run by the tests as a process with the generated package `library_client` on its path.
"""

import json
import sys
from datetime import UTC, date, datetime

from library_client import AuthenticatedClient, Client
from library_client.api.books import books_create, books_find, books_find_by_id
from library_client.api.todos import todos_create, todos_find
from library_client.api.users import users_create, users_login
from library_client.models import (
    Credentials,
    ErrorResponse,
    NewBook,
    NewBookBinding,
    NewBookLanguage,
    NewBookPlace,
    NewBookVolumes,
    NewTodo,
    NewUser,
)

_, url, password = sys.argv
email = "python@example.com"
stranger = Client(base_url=url, raise_on_unexpected_status=True)
users_create.sync(client=stranger, body=NewUser(email=email, password=password, name="Ada"))
token = users_login.sync(client=stranger, body=Credentials(email=email, password=password))
client = AuthenticatedClient(base_url=url, token=token.id, raise_on_unexpected_status=True)

for title, price in (("Notes", "12.50"), ("Sketch", "9.95")):
    book = NewBook(
        title=title,
        price=price,
        binding=NewBookBinding.HARD,
        language=NewBookLanguage.EN,
        stars=4,
        floor=-1,
        volumes=NewBookVolumes.VALUE_5,
        country="UK",
        serial="AB-12345",
        record="507f1f77bcf86cd799439011",
        released=date(1843, 10, 1),
        bought=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
        place=NewBookPlace(lat=51.5, lng=-0.1),
    )
    books_create.sync(client=client, body=book)
dear = {"where": {"price": {"gt": "10"}}, "order": "title", "limit": 10}
books = books_find.sync(client=client, filter_=json.dumps(dear))

todos_create.sync(client=client, body=NewTodo(title="Water the plants"))
wanted = {"where": {"title": {"like": "Water%"}}}
todos = todos_find.sync(client=client, filter_=json.dumps(wanted))
missing = books_find_by_id.sync(id=str(token.user_id), client=client)
assert isinstance(missing, ErrorResponse)
answers = {
    "prices": [each.price for each in books],
    "todos": [[each.title, each.owner_id == token.user_id] for each in todos],
    "error": missing.error.code,
}
json.dump(answers, sys.stdout)
