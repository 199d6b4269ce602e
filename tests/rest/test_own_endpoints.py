"""An own endpoint of a model, and changes of rows that other users may or may not read."""

from dataclasses import replace

import pytest
from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import AUTHENTICATED, EVERYONE, EXECUTE, OWNER, READ, WRITE, Rule, allow, deny
from app.database.ids import RowId
from app.fields.base import Schema, Text
from app.problems import ConfigurationError
from app.rest.endpoint import declared_by, served_endpoints
from app.rest.resource import Resource
from app.rest.views.collection import CollectionViews
from tests.support.answers import refusal

# A setting that no app has, unless a test says so.
HIDES = "TEST_HIDES"
EVERYTHING_OWN = [allow(AUTHENTICATED, "create"), allow(OWNER), allow("admin")]
READABLE = [*EVERYTHING_OWN, allow(AUTHENTICATED, "find", "findById")]
DENIED, UNKNOWN = (403, "ACCESS_DENIED"), (404, "MODEL_NOT_FOUND")


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Project(Base):
    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(255))
    owner_id: Mapped[int]


class ProjectSchema(Schema):
    title = Text(255, required=True)


def make_resource(rules, owner=Project.owner_id):
    """Declare projects with endpoints of their own: by id, without a row, by another name."""
    projects = Resource(
        name="projects",
        singular="project",
        model=Project,
        schema=ProjectSchema,
        rules=lambda settings: rules,
        owner=owner,
    )

    @projects.endpoint("archive", WRITE, "POST /<id>/archive", answer={"type": "object"})
    def archive(project):
        """Archive a project."""
        return {"archived": project.title}

    @projects.endpoint("archiveAll", EXECUTE, "POST /archive")
    def archive_all():
        """Archive all projects."""

    @projects.endpoint("name", EXECUTE, "POST /<id>/name", finds_row=False, answer={})
    def name(id):
        """Say the id, whether there is such a project or not."""
        return {"id": id}

    @projects.endpoint("hide", EXECUTE, "POST /hide", is_served=lambda settings: HIDES in settings)
    def hide():
        """Exist only with a setting."""

    @projects.endpoint("show", READ, "GET /<int:number>/show")
    def show(number):
        """Show what stands in the path, which nobody owns."""

    @projects.endpoint("status", READ, "GET /status", permits=EVERYONE, answer={})
    def status():
        """Say that projects are served."""
        return {"served": True}

    return projects


@pytest.fixture
def call(serve, api, runner, token):
    """Call a project of Ada's, the one with id 1, as several callers."""
    bob, root = api.logged_in("bob@example.com"), api.logged_in("root@example.com")
    runner.invoke(args=["roles", "grant", "root@example.com", "admin"])
    tokens = {"anonymous": None, "ada": token, "bob": bob, "root": root}

    def call(rules, **settings):
        client = serve(Base.metadata, make_resource(rules), **settings).test_client()

        def send(caller, verb, path, body=None):
            headers = {"Authorization": tokens[caller]} if tokens[caller] else {}
            return client.open(f"/api/projects{path}", method=verb, json=body, headers=headers)

        assert send("ada", "POST", "/", {"title": "Hers"}).status_code == 200
        return send

    return call


def test_an_own_endpoint_by_id_is_404_for_other_users(call):
    send = call(EVERYTHING_OWN)

    answers = {each: send(each, "POST", "/1/archive") for each in ("ada", "root", "bob")}

    assert answers["ada"].json == answers["root"].json == {"archived": "Hers"}
    assert refusal(answers["bob"]) == UNKNOWN
    assert refusal(send("anonymous", "POST", "/1/archive")) == (401, "AUTHORIZATION_REQUIRED")
    for path in ("/2/archive", "/x/archive", "/01/archive"):
        assert refusal(send("root", "POST", path)) == UNKNOWN


CHANGES = [
    ("POST", "/1/archive", None),
    ("PATCH", "/1", {"title": "His"}),
    ("PATCH", "/1", {}),
    ("PUT", "/1", {"title": "His"}),
    ("POST", "/1/replace", {"title": "His"}),
    ("DELETE", "/1", None),
]


def test_a_caller_who_may_only_read_a_row_gets_403_for_a_change(call):
    send = call(READABLE)

    for verb, path, body in CHANGES:
        assert refusal(send("bob", verb, path, body)) == DENIED
        assert refusal(send("bob", verb, path.replace("1", "2"), body)) == UNKNOWN
        assert refusal(send("anonymous", verb, path, body))[0] == 401
    assert send("bob", "GET", "/1").json == {"title": "Hers"}
    for verb, path, body in CHANGES:
        assert send("ada", verb, path, body).status_code == 200


def test_a_caller_who_may_not_read_a_row_gets_404_for_a_change(call):
    send = call(EVERYTHING_OWN)

    for verb, path, body in CHANGES:
        assert refusal(send("bob", verb, path, body)) == UNKNOWN


@pytest.mark.parametrize("status", [401, 404])
def test_a_denied_change_has_the_configured_status(call, status):
    send = call(READABLE, ACL_ERROR_STATUS=status)

    for verb, path, body in CHANGES:
        assert send("bob", verb, path, body).status_code == status


def test_an_owner_rule_does_not_allow_endpoints_without_a_row(call):
    send = call(EVERYTHING_OWN)

    for verb, path in [("POST", "/archive"), ("GET", "/1/show")]:
        assert refusal(send("ada", verb, path)) == DENIED
        assert send("root", verb, path).status_code == 204


def test_an_endpoint_that_finds_no_row_takes_any_id(call):
    send = call([allow("$everyone", "name"), allow(AUTHENTICATED, "create")])

    for caller, each in [("ada", "1"), ("bob", "1"), ("anonymous", "99"), ("anonymous", "x")]:
        assert send(caller, "POST", f"/{each}/name").json == {"id": each}


def test_an_endpoint_permits_callers_itself_unless_rules_decide_otherwise(call):
    permitted = call(EVERYTHING_OWN)("anonymous", "GET", "/status")
    denied = call([*EVERYTHING_OWN, deny(EVERYONE, "status")])("anonymous", "GET", "/status")

    assert permitted.json == {"served": True}
    assert denied.status_code == 401


def test_an_endpoint_exists_only_with_the_settings_it_needs(call, serve):
    send = call([allow(AUTHENTICATED)])

    assert send("ada", "POST", "/hide").status_code == 405
    assert "projects.hide" not in served_endpoints.of(serve(Base.metadata, make_resource([])))


@pytest.mark.parametrize(
    ("rules", "owner", "problem"),
    [
        (
            [allow(OWNER, "archiv")],
            Project.owner_id,
            "no method 'archiv'; there are aggregate, archive, ",
        ),
        ([Rule("admin", False, properties=frozenset({"drop"}))], None, "no method 'drop'"),
        ([allow(OWNER, "archiveAll")], Project.owner_id, r"\$owner .* for 'archiveAll'"),
        ([allow(OWNER, "archive", "show")], Project.owner_id, r"\$owner .* for 'show'"),
        ([allow(OWNER)], None, r"\$owner .*: the rows have no owners"),
        ([allow(OWNER, "findById")], None, r"\$owner .*: the rows have no owners"),
    ],
)
def test_a_rule_that_cannot_be_enforced_stops_the_start(serve, rules, owner, problem):
    with pytest.raises(ConfigurationError, match=f"^the rules of projects cannot .*{problem}"):
        serve(Base.metadata, make_resource(rules, owner))


def test_an_endpoint_with_and_without_an_id_in_its_routes_is_rejected(database_url):
    with pytest.raises(ValueError, match="all routes of archive have <id>, or none"):
        make_resource([]).endpoint("archive", WRITE, "POST /<id>/archive", "POST /archive")


def test_a_copy_of_an_endpoint_has_other_values_for_fields_that_there_are(database_url):
    endpoint, *_ = declared_by(CollectionViews).values()

    assert endpoint.replace(by_row=True) == replace(endpoint, by_row=True)
    with pytest.raises(TypeError, match="an endpoint has no field by_rows"):
        endpoint.replace(by_rows=True)


@pytest.mark.parametrize("place", ["body", "answer"])
def test_a_schema_that_cannot_be_made_is_an_error_where_its_endpoint_is_declared(
    database_url, place
):
    class Meta:
        exclude = ("subject",)

    impossible = type("ImpossibleSchema", (ProjectSchema,), {"Meta": Meta})
    declare = make_resource([]).endpoint(
        "rename", WRITE, "POST /<id>/rename", **{place: impossible}
    )

    with pytest.raises(ValueError, match="subject"):
        declare(print)
