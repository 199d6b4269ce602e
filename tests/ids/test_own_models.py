"""Models of one's own with ids of each kind, and ids that clients choose."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import Integer, MetaData
from sqlalchemy.orm import DeclarativeBase, mapped_column

from app.database.ids import RowId, TextId, id_storage
from app.database.session import db
from app.fields.base import Id, Schema
from app.problems import ConfigurationError
from app.rest.resource import Resource
from app.rest.views.registration import check_relations, register_resource
from tests.conftest import Api
from tests.support.answers import field_codes, refusal
from tests.support.rows import statements

from .conftest import FORMS
from .models import Base, TagSchema, resources, rules

pytestmark = pytest.mark.both_databases

UNKNOWN = "018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b"


class ThingSchema(Schema):
    id = Id(TextId(35), dump_only=True)


@pytest.fixture
def id_type():
    """The models' own ids do not depend on the setting; only RowId does."""
    return "uuid"


@pytest.fixture
def api(make_app, id_type, secrets):
    app = make_app(ID_TYPE=id_type)
    for each in resources():
        register_resource(app, each)
    check_relations(app)
    with app.app_context():
        stored_tables(id_type).create_all(db.engine)
    yield Api(app.test_client(), secrets)
    with app.app_context():
        Base.metadata.drop_all(db.engine)


def stored_tables(id_type):
    """Return the tables as migrations have them; SQLAlchemy would number the rows of any RowId."""
    metadata = MetaData()
    for table in Base.metadata.sorted_tables:
        for column in table.to_metadata(metadata).columns:
            if isinstance(column.type, RowId):
                column.type = id_storage(id_type)
    return metadata


def created(api, collection, **values):
    response = api("POST", f"/{collection}", values)
    assert response.status_code == 200, response.json
    return response.json["id"]


def found(api, path, **filter_):
    response = api("GET", path, query_string={"filter": json.dumps(filter_)})
    assert response.status_code == 200, response.json
    return [each["id"] for each in response.json]


def test_each_kind_is_generated_and_related(api):
    country = created(api, "countries", id="de-x", name="a")
    device = created(api, "devices", name="a", countryId=country)
    measurement = created(api, "measurements", name="a", deviceId=device.upper())
    tag = created(api, "tags", name="a")
    remark = created(api, "remarks", name="a")

    assert country == "de-x"
    assert FORMS["uuid"].fullmatch(device)
    assert FORMS["uuid"].fullmatch(remark)
    assert FORMS["objectid"].fullmatch(measurement)
    assert type(tag) is int
    assert FORMS["uuid"].fullmatch(created(api, "countries", name="generated"))
    for collection, id in [
        ("countries", country),
        ("devices", device.upper()),
        ("measurements", measurement.upper()),
        ("tags", tag),
        ("remarks", remark),
    ]:
        assert api("GET", f"/{collection}/{id}").json["name"] == "a"
    assert found(api, f"/countries/{country}/devices") == [device]
    assert found(api, "/devices", where={"countryId": {"inq": [country]}}) == [device]
    tree = api("GET", f'/countries/{country}?filter={{"include":{{"devices":"measurements"}}}}')
    assert tree.json["devices"][0]["measurements"][0]["id"] == measurement

    assert api("PUT", f"/devices/{device}/tags/rel/{tag}").status_code == 204
    assert api("HEAD", f"/devices/{device}/tags/rel/{tag}").status_code == 200
    assert found(api, f"/devices/{device}/tags") == [tag]
    assert api("DELETE", f"/devices/{device}/tags/rel/{tag}").status_code == 204


def test_a_foreign_key_of_the_wrong_form_or_of_no_row_names_the_field(api):
    cases = [
        ("devices", "countryId", ["", "..", "a/b", "a\nb", "x" * 41, 7, True, [], {}]),
        ("measurements", "deviceId", ["x", "", 7, UNKNOWN[:-1], UNKNOWN.replace("-", ""), {}]),
        ("remarks", "userId", ["x", 7, True, 1.5, [UNKNOWN]]),
    ]
    for collection, name, wrongs in cases:
        for wrong in wrongs:
            response = api("POST", f"/{collection}", {"name": "a", name: wrong})
            assert field_codes(response) == {name: ["invalid"]}, wrong
        unknown = {"devices": "nowhere"}.get(collection, UNKNOWN)
        response = api("POST", f"/{collection}", {"name": "a", name: unknown})
        messages = response.json["error"]["details"]["messages"]
        assert messages == {name: ["refers to a row that does not exist, or that you may not read"]}


def test_text_ids_sort_by_code_point_and_are_compared_with_patterns(api):
    ids = ["B", "Z-z", "a", "aa", "b", "é", "日本"]
    created_ = api("POST", "/countries", [{"id": each, "name": "n"} for each in reversed(ids)])
    assert created_.status_code == 200, created_.json

    assert found(api, "/countries") == ids
    assert found(api, "/countries", order="id DESC") == ids[::-1]
    assert found(api, "/countries", where={"id": {"gt": "Z"}}) == ids[1:]
    assert found(api, "/countries", where={"id": {"like": "a%"}}) == ["a", "aa"]
    assert found(api, "/countries", where={"id": {"regexp": "/^A/i"}}) == ["a", "aa"]
    assert found(api, "/countries", limit=2, skip=2) == ids[2:4]
    for path in ("/countries/%C3%A9", "/countries/%E6%97%A5%E6%9C%AC"):
        assert api("GET", path).status_code == 200
    for path in ("/countries/%00", "/countries/a%0a", "/countries/" + "x" * 41, "/countries/é%00"):
        assert api("GET", path).status_code == 404
    # UUIDs and ObjectIds are no text.
    for collection in ("devices", "measurements"):
        query = {"filter": '{"where":{"id":{"like":"a%"}}}'}
        assert refusal(api("GET", f"/{collection}", query_string=query))[1] == "INVALID_FILTER"


def test_clients_choose_ids_only_where_the_model_says_so(api):
    refused = api("POST", "/devices", {"id": UNKNOWN, "name": "a"})
    assert refused.json["error"]["details"]["messages"] == {"id": ["is read-only"]}
    assert api("PUT", "/devices", {"id": UNKNOWN, "name": "a"}).status_code == 404

    for verb in ("PUT", "PATCH"):
        for name in ("created", "changed"):
            body = {"id": verb, "name": name}
            assert api(verb, "/countries", body).json == body
    assert api("GET", "/countries/count").json == {"count": 2}
    again = api("POST", "/countries", {"id": "PUT", "name": "b"})
    assert field_codes(again) == {"id": ["uniqueness"]}
    several = api("POST", "/countries", [{"id": "x", "name": "b"}, {"id": "x", "name": "b"}])
    assert field_codes(several) == {"id": ["uniqueness"]}
    assert api("GET", "/countries/x").status_code == 404
    moved = api("PATCH", "/countries/PUT", {"id": "other"})
    assert moved.json["error"]["details"]["messages"] == {"id": ["is read-only"]}
    assert created(api, "tags", id=7, name="a") == 7
    for wrong in ("", ".", "x" * 41, 7, {}, "a\x7f"):
        for verb in ("POST", "PUT"):
            response = api(verb, "/countries", {"id": wrong, "name": "a"})
            code = "presence" if wrong == "" else "invalid"
            assert field_codes(response) == {"id": [code]}, wrong
    for wrong in ("x", 0, -1, 2**53, 10**400, True, 1.5, [1]):
        assert field_codes(api("POST", "/tags", {"id": wrong, "name": "a"})) == {"id": ["invalid"]}


def test_many_rows_with_generated_ids_are_one_statement_in_their_order(api):
    names = [str(number) for number in range(500)]
    for collection in ("devices", "measurements", "remarks"):
        with statements(api.client.application) as sent:
            rows = api("POST", f"/{collection}", [{"name": name} for name in names]).json
        assert len([each for each in sent if each.startswith("INSERT")]) == 1
        assert [each["name"] for each in rows] == names
        assert [each["id"] for each in rows] == sorted(each["id"] for each in rows)


def test_an_id_of_another_type_stops_the_start(make_app, id_type):
    class Own(DeclarativeBase):
        pass

    class Thing(Own):
        __tablename__ = "things"
        id = mapped_column(Integer, primary_key=True)

    resource = Resource("things", "thing", Thing, TagSchema.from_dict({}), rules)
    said = "things.id must be a RowId, IntegerId, UuidId, ObjectId or TextId"
    with pytest.raises(ConfigurationError, match=said):
        register_resource(make_app(ID_TYPE=id_type), resource)


def test_an_id_that_is_too_short_to_be_generated_is_the_clients(make_app, id_type):
    class Own(DeclarativeBase):
        pass

    class Thing(Own):
        __tablename__ = "things"
        id = mapped_column(TextId(35), primary_key=True)

    resource = Resource("things", "thing", Thing, ThingSchema, rules)
    app = make_app(ID_TYPE=id_type)
    with pytest.raises(ConfigurationError, match=r"things.id: a UUID does not fit into it; set id"):
        register_resource(app, resource)
    register_resource(app, replace(resource, id_on_create=True))

    assert field_codes(app.test_client().post("/api/things", json={})) == {"id": ["presence"]}
