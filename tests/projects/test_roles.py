"""`models check` looks at the roles that the rules of a project name."""

import json

import pytest

from tests.definitions.conftest import running_a_command

ROLES = ["clerk", "clrek", "auditor", "admin", "$owner", "author"]
NOTE = {
    "name": "note",
    "acls": [
        {"principalType": "ROLE", "principalId": role, "permission": "ALLOW"} for role in ROLES
    ],
    "relations": {"owner": {"type": "belongsTo", "model": "user"}},
}
CODE = "def extend(notes):\n    notes.roles['author'] = lambda user_id: notes.model.id == user_id\n"


@pytest.fixture
def check(make_app, tmp_path, monkeypatch, caplog):
    """Check the models of a project with the fixture roles; return the output and the warnings."""
    models, fixtures = tmp_path / "models", tmp_path / "fixtures"
    models.mkdir()
    fixtures.mkdir()
    (models / "note.json").write_text(json.dumps(NOTE))
    (models / "note.py").write_text(CODE)
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))

    def check(roles):
        (fixtures / "roles.json").write_text(json.dumps({"roles": roles}))
        with running_a_command():
            app = make_app(MODELS_FOLDER="models")
        result = app.test_cli_runner().invoke(args=["models", "check", "--strict"])
        return result.exit_code, result.output.splitlines(), caplog.messages

    return check


def test_roles_that_fixtures_lack_are_warnings(check):
    code, said, warnings = check(["clerk"])

    assert warnings == [
        "model note.json: acls[1].principalId: there is no role 'clrek'; did you mean 'clerk'?",
        "model note.json: acls[2].principalId: no fixture has the role 'auditor'",
    ]
    assert code == 1
    assert said == ["Checked 1 models: usable, with warnings."]


def test_roles_that_nobody_has_are_said_if_fixtures_have_none(check):
    roles = ("auditor", "clerk", "clrek")
    said = [
        f"No fixture has the role {role}: `ostiary roles grant` gives it to a user."
        for role in roles
    ]

    assert check([]) == (0, [*said, "Checked 1 models: all in order."], [])


def test_roles_of_fixtures_are_known(check):
    assert check(ROLES) == (0, ["Checked 1 models: all in order."], [])


def test_a_principal_that_is_almost_one_of_ours_is_a_warning(check, tmp_path):
    rule = {"principalType": "ROLE", "principalId": "$stong", "permission": "ALLOW"}
    note = {**NOTE, "acls": [rule]}
    (tmp_path / "models/note.json").write_text(json.dumps(note))

    assert check([])[2] == [
        "model note.json: acls[0].principalId: there is no role '$stong'; did you mean '$strong'?"
    ]
