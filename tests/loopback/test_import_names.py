"""Remote methods and models with names that Ostiary has."""

import json

import pytest

from .projects import USER, import_application, log_in, run, serving

DENIED = {
    "principalType": "ROLE",
    "principalId": "$everyone",
    "permission": "DENY",
    "property": "confirm",
}
MEMBER = """
module.exports = Member => {
  Member.remoteMethod('changePassword', {
    accepts: [{arg: 'id', type: 'number', required: true}, {arg: 'old', type: 'string'}],
    http: {verb: 'post', path: '/:id/changePassword'},
  });
  Member.remoteMethod('login', {http: {verb: 'post', path: '/signin'}});
  Member.remoteMethod('confirm', {http: {verb: 'post', path: '/:uid/confirm'}});
  Member.remoteMethod('logout', {http: {verb: 'post', path: '/logout'}});
};
"""
NOTE = """
module.exports = Note => {
  Note.remoteMethod('login', {http: {verb: 'post', path: '/login'}});
  Note.remoteMethod('update', {http: {verb: 'post', path: '/change'}});
  Note.remoteMethod('update2', {http: {verb: 'post', path: '/second'}});
  Note.remoteMethod('aggregate', {http: {verb: 'get', path: '/sums'}});
};
"""


def test_methods_of_users_are_stubs_at_their_own_routes(tmp_path):
    member = {"name": "Member", "base": "User", "acls": [DENIED]}

    project, output = import_application(
        tmp_path, member, scripts={"common/models/member.js": MEMBER}
    )
    with serving(project) as app:
        client, headers = app.test_client(), log_in(app, "/api/Members")
        own = client.post("/api/Members/1/changePassword", json={"old": "a"}, headers=headers)
        anonymous = client.post("/api/Members/1/changePassword", json={"old": "a"})
        signed_in = client.post("/api/Members/signin", json={})
        denied = client.post("/api/Members/1/confirm", json={}, headers=headers)
        ours = client.post("/api/Members/change-password", json={}, headers=headers)
        logout = client.post("/api/Members/logout", headers=headers)
    listed = json.loads(run(project, "todo", "--json").output)

    # LoopBack's own rules of users, and those of the model, are about the method's name.
    assert [own.status_code, signed_in.status_code, anonymous.status_code] == [501, 501, 401]
    assert denied.status_code == 401
    assert (ours.status_code, logout.status_code) == (422, 204)
    assert "login is the method login2 at POST /Members/signin: Ostiary has a login" in output
    assert "acls of changePassword, login, confirm are those of" in output
    assert {stub["name"]: stub["routes"] for stub in listed}["Member.login"] == (
        "POST /Members/signin"
    )
    assert "# It is not served: Ostiary has a method of this name" in (
        (project / "models" / "member.py").read_text()
    )


def test_methods_of_other_models_have_free_names(tmp_path):
    note = {"name": "Note", "base": "PersistedModel"}

    project, _ = import_application(tmp_path, note, scripts={"common/models/note.js": NOTE})
    with serving(project) as app:
        client = app.test_client()
        answers = [
            client.post("/api/Notes/login").status_code,
            client.post("/api/Notes/change").status_code,
            client.post("/api/Notes/second").status_code,
            client.get("/api/Notes/sums").status_code,
        ]

    assert answers == [501] * 4
    written = (project / "models" / "note.py").read_text()
    assert '"login", EXECUTE, "POST /login"' in written
    assert '"update3", EXECUTE, "POST /change"' in written


@pytest.mark.parametrize(
    ("users", "path"),
    [
        # LoopBack 3 serves no users at /users, or none at all.
        ({}, "/api/users"),
        ({"name": "Member", "base": "User"}, "/api/users"),
        # LoopBack 3 serves users at /users.
        ({"name": "Member", "base": "User", "plural": "users"}, "/api/userRows"),
    ],
)
def test_another_model_is_at_users_where_loopback_serves_no_users(tmp_path, users, path):
    note = {"name": "user", "base": "PersistedModel", "properties": {"title": "string"}}
    entries = {"User": {"dataSource": "db", "public": False}}

    project, output = import_application(tmp_path, note, *filter(None, [users]), entries=entries)
    with serving(project) as app:
        client = app.test_client()
        created = client.post(path, json={"title": "a"})
        listed = client.get(path).json
        login = client.post("/api/users/login", json={})

    assert created.status_code == 200, output
    assert listed == [{"id": 1, "title": "a"}]
    # Where users are at another path, `login` is an id of the model's rows.
    assert login.status_code == (400 if path != "/api/users" else 405)


@pytest.mark.parametrize("entries", [{"User": {"public": False}}, {}])
@pytest.mark.parametrize("models", [[], [{"name": "Note", "base": "PersistedModel"}]])
def test_a_project_serves_no_users_if_the_application_serves_none(tmp_path, models, entries):
    notes = {model["name"]: {"dataSource": "db"} for model in models}
    config = {"_meta": {"sources": ["../common/models"]}, **notes, **entries}

    project, _ = import_application(tmp_path, *models, files={"server/model-config.json": config})
    with serving(project) as app:
        client = app.test_client()
        answers = client.get("/api/users"), client.post("/api/users", json=USER)

    assert [answer.status_code for answer in answers] == [404, 404]


def test_a_copy_of_the_file_of_user_leaves_users_at_their_path(tmp_path):
    copy = {"name": "User", "base": "PersistedModel", "properties": {"email": "string"}}

    project, _ = import_application(tmp_path, copy)
    with serving(project) as app:
        assert log_in(app, "/api/Users")
