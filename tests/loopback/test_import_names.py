"""Remote methods with names that methods of Ostiary have."""

import json

from .projects import import_application, log_in, run, serving

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
