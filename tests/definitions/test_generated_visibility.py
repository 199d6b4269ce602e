"""Generated requests: what is hidden makes no difference to any answer.

The same requests are sent twice, to rows that differ in what clients do not see.
"""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.database.session import db, transaction
from app.rest.collection import served_collections

from .library import OPEN

GENERATED = settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
# Of the same length, as an answer has a limit. No request has either.
SECRETS = ("k3yA", "q9zB")
MODELS = {
    "place": {
        "name": "Place",
        "base": "Model",
        "hidden": ["safe"],
        "properties": {"floor": "number"},
    },
    "address": {
        "name": "Address",
        "base": "Model",
        "properties": {"city": "string", "place": {"type": "Place"}},
        "hidden": ["code"],
        "protected": ["keys"],
    },
    "person": {
        "name": "Person",
        "strict": False,
        "properties": {
            "name": "string",
            "pin": {"type": "string", "hidden": True},
            "home": {"type": "Address"},
            "flats": ["Address"],
            "phone": "string",
            "shelfId": "number",
        },
        "relations": {
            "shelf": {"type": "belongsTo", "model": "Shelf"},
            "pets": {"type": "hasMany", "model": "Pet"},
            "toys": {"type": "hasMany", "model": "Toy"},
            "work": {"type": "embedsOne", "model": "Address", "property": "workData"},
        },
        "hidden": ["secret", "toys", "shelfId"],
        "protected": ["phone", "fax", "workData"],
        "acls": OPEN,
    },
    "pet": {
        "name": "Pet",
        "properties": {"name": "string", "chip": "string"},
        "relations": {"person": {"type": "belongsTo", "model": "Person"}},
        "hidden": ["chip", "personId"],
        "acls": OPEN,
    },
    "toy": {
        "name": "Toy",
        "properties": {"id": {"type": "string", "id": True}},
        "relations": {"person": {"type": "belongsTo", "model": "Person"}},
        "hidden": ["id"],
        "acls": OPEN,
    },
    "shelf": {
        "name": "Shelf",
        "properties": {"name": "string"},
        "relations": {"people": {"type": "hasMany", "model": "Person"}},
        "acls": OPEN,
    },
}


def address(city, secret):
    place = {"floor": 1, "safe": secret}
    return {"city": city, "code": secret, "keys": [secret], "place": place}


def world(secret):
    """Return the rows of each resource by attribute, with what is hidden in them."""
    return {
        "Shelves": [{"id": 1, "name": "A"}],
        "People": [
            {
                "id": number,
                "name": name,
                "pin": secret,
                "home": address("Ulm", secret),
                "flats": [address("Bonn", secret), {**address("Kiel", secret), "id": 7}],
                "phone": "1",
                "shelf_id": 1,
                "work_data": address("Gera", secret),
                "others_": {"color": "red", "fax": "2", "secret": {"x": secret}, "pin": secret},
            }
            for number, name in ((1, "Ada"), (2, "Bob"))
        ],
        "Pets": [{"id": 1, "name": "Cat", "chip": secret, "person_id": 1}],
        "Toys": [{"id": secret, "person_id": 1}],
    }


@pytest.fixture
def people(serve):
    api = serve(MODELS)
    token = api.logged_in()
    app = api.client.application

    def lay_out(secret):
        served = served_collections.of(app)
        with app.app_context(), transaction():
            # New rows have the same ids each time.
            db.session.execute(text("DELETE FROM sqlite_sequence"))
            for name in ("Toys", "Pets", "People", "Shelves"):
                db.session.execute(served[name].rows.key.table.delete())
            for name, rows in world(secret).items():
                for row in rows:
                    db.session.execute(
                        served[name]
                        .rows.key.table.insert()
                        .values(
                            {served[name].rows.column(key): value for key, value in row.items()}
                        )
                    )

    def call(verb, path, body, query, tag):
        texts = {name: json.dumps(value) for name, value in query.items()}
        headers = {"If-Match": tag} if tag else {}
        return api(verb, path, body, token=token, query_string=texts, headers=headers)

    call.lay_out = lay_out
    return call


SEEN = ["id", "name", "home", "flats", "phone", "color", "fax", "workData", "home.city"]
SEEN += ["home.place.floor", "workData.city", "nothing", "$others"]
UNSEEN = ["pin", "secret", "secret.x", "shelfId", "chip", "personId", "home.code", "home.keys"]
UNSEEN += ["home.place.safe", "workData.code", "workData.place.safe", "flats.code", "home.place"]
UNSEEN += ["Secret", "SECRET", "pin.x", "$others.secret", "$others.pin", "people.secret"]
names = st.sampled_from([*SEEN, *UNSEEN])
scalars = st.sampled_from([None, True, 1, "k", "k3y", "q", "Ulm", "red", "", "a", "Cat", "z"])
patterns = st.sampled_from(["k%", "%3%", "q%", "U%", "^k", "^q", "%", "k3y_"])
conditions = st.one_of(
    scalars,
    st.dictionaries(st.sampled_from(["gt", "gte", "lt", "lte", "eq", "neq"]), scalars, min_size=1),
    st.dictionaries(
        st.sampled_from(["like", "nlike", "ilike", "regexp"]), patterns, min_size=1, max_size=1
    ),
    st.builds(lambda values: {"inq": values}, st.lists(scalars, max_size=3)),
    st.builds(lambda value: {"exists": value}, st.booleans()),
)
plain = st.dictionaries(names, conditions, max_size=2)
wheres = st.recursive(
    plain,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"and": st.lists(inner, max_size=2), "or": st.lists(inner, max_size=2)}
    ),
    max_leaves=3,
)
orders = st.builds("{} {}".format, names, st.sampled_from(["ASC", "DESC"]))
relations = st.sampled_from(["shelf", "pets", "toys", "work", "person", "people"])
FILTER = {
    "where": wheres,
    "order": orders | st.lists(orders, max_size=2),
    "fields": st.lists(names, max_size=3) | st.dictionaries(names, st.booleans(), max_size=2),
    "limit": st.sampled_from([1, 2]),
}
filters = st.recursive(
    st.fixed_dictionaries({}, optional=FILTER),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            **FILTER,
            "include": relations
            | st.builds(lambda name, scope: {"relation": name, "scope": scope}, relations, inner),
        },
    ),
    max_leaves=3,
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "city": st.sampled_from(["Ulm", "Bonn", "Kiel", "Jena"]),
        "id": st.sampled_from([7, 8]),
        "code": st.sampled_from(["new", None]),
        "place": st.sampled_from([None, {}, {"floor": 1}, {"floor": 2, "safe": "new"}]),
    },
)
BODY = {
    "name": scalars,
    "pin": st.sampled_from(["new", None]),
    "home": st.none() | objects,
    "workData": st.none() | objects,
    "flats": st.lists(objects, max_size=3),
    "color": scalars,
    "fax": scalars,
    "secret": scalars,
    "id": st.sampled_from([1, 2, 3]),
    "shelf": st.sampled_from([{"id": 1, "name": "A"}, {"id": 2}]),
    "work": objects,
    "shelfId": st.sampled_from([1, 2]),
    "chip": scalars,
}
bodies = st.fixed_dictionaries({}, optional=BODY)
READ = ["/people", "/people/1", "/people/findOne", "/people/2/pets", "/people/1/shelf", "/pets"]
READ += ["/pets/1", "/pets/1/person", "/shelves/1/people", "/shelves", "/toys", "/people/1/exists"]
reads = st.tuples(
    st.just("GET"),
    st.sampled_from(READ),
    st.none(),
    st.builds(lambda given: {"filter": given}, filters),
)
counts = st.tuples(
    st.sampled_from(["GET"]),
    st.sampled_from(["/people/count", "/pets/count", "/shelves/1/people/count", "/toys/count"]),
    st.none(),
    st.builds(lambda where: {"where": where}, wheres),
)
writes = st.tuples(
    st.sampled_from(["PATCH", "PUT"]),
    st.sampled_from(["/people/1", "/people", "/shelves/1/people/1", "/pets/1"]),
    bodies,
    st.just({}),
)
by_where = st.tuples(
    st.just("POST"),
    st.sampled_from(["/people/update", "/people/upsertWithWhere", "/pets/update"]),
    bodies,
    st.builds(lambda where: {"where": where}, wheres),
)
new = st.tuples(
    st.just("POST"),
    st.sampled_from(["/people", "/people/replaceOrCreate", "/shelves/1/people", "/people/1/pets"]),
    bodies,
    st.just({}),
)
requests = st.lists(
    st.tuples(reads | counts | writes | by_where | new, st.booleans()), min_size=1, max_size=4
)


def answers(people, secret, calls):
    """Return what is answered to requests, and what all rows then look like."""
    people.lay_out(secret)
    found, tag = [], None
    for (verb, path, body, query), is_conditional in [
        *calls,
        *((("GET", path, None, {}), False) for path in READ),
    ]:
        response = people(verb, path, body, query, tag if is_conditional else None)
        tag = response.headers.get("ETag", tag)
        headers = {name: response.headers.get(name) for name in ("ETag", "Link", "X-Total-Count")}
        found.append((verb, path, response.status_code, response.text, headers))
    return found


@pytest.mark.only_on("sqlite")
def test_what_is_hidden_makes_no_difference_to_any_answer(people):
    @GENERATED
    @given(requests)
    def check(calls):
        first, second = (answers(people, secret, calls) for secret in SECRETS)

        for ours, theirs in zip(first, second, strict=True):
            assert ours == theirs
            assert ours[2] < 500
            assert not any(secret in ours[3] for secret in SECRETS)

    check()
