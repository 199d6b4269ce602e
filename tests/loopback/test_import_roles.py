"""The users that boot scripts create, and the roles that they give them."""

import json

import pytest

from .projects import PASSWORD, import_application, serving

MEMBER = {"name": "Member", "base": "User"}
TOKENS = {"type": "hasMany", "model": "AccessToken", "polymorphic": {"foreignKey": "userId"}}
START = "module.exports = function(app) { const {Member, Role, RoleMapping} = app.models;\n"
ANN, BO = (f"{{email: '{name}@example.com', password: 'x'}}" for name in ("ann", "bo"))
CALLBACKS = f"""
var Member = app.models.Member;
Member.create([{ANN}, {BO}], function(err, users) {{
  Role.create({{name: 'boss'}}, function(err, role) {{
    role.principals.create({{
      principalType: RoleMapping.USER,
      principalId: users[0].id
    }}, function(err, principal) {{}});
  }});
}});
"""
PROMISES = f"""
let ann;
Member.create({ANN})
  .then(created => {{ ann = created; return Role.findOrCreate({{name: 'boss'}}); }})
  .then(([role]) => role.principals.create({{principalType: 'USER', principalId: ann.id}}));
Member.create({BO});
"""
AWAITED = f"""
(async () => {{
  const users = await Member.create([{ANN}, {BO}]);
  const [role] = await Role.findOrCreate({{where: {{name: 'boss'}}}}, {{name: 'boss'}});
  await RoleMapping.create({{principalType: 'USER', principalId: users[0].id, roleId: role.id}});
}})();
"""
FOUND = f"""
Member.create([{ANN}, {BO}]);
Role.create({{name: 'boss'}}, (err, role) => {{
  Member.findOne({{where: {{email: 'ann@example.com'}}}}, (err, ann) => {{
    role.principals.create({{principalType: 'USER', principalId: ann.id}});
  }});
}});
"""
# Neither the user nor the role is certain.
SHADOWED = f"""
Member.create([{ANN}, {BO}], (err, users) => {{
  Role.create({{name: 'boss'}}, (err, role) => {{
    load((users, role) => {{
      role.principals.create({{principalType: 'USER', principalId: users[0].id}});
    }});
  }});
}});
"""
ASSIGNED_TWICE = f"""
let ann = await Member.create({ANN});
ann = await Member.create({BO});
const role = await Role.create({{name: 'boss'}});
role.principals.create({{principalType: 'USER', principalId: ann.id}});
"""
OTHER_PRINCIPAL = f"""
Member.create([{ANN}, {BO}], (err, users) => {{
  Role.create({{name: 'boss'}}, (err, role) => {{
    role.principals.create({{principalType: RoleMapping.ROLE, principalId: users[0].id}});
  }});
}});
"""
VARIABLES = """
Role.create({name: 'boss'});
Role.create({name: process.env.ROLE});
Member.create(settings.admins, (err, users) => {
  users.forEach(user => RoleMapping.create(mappingOf(user)));
});
Member.create({email: process.env.ADMIN, password: 'x'});
Member.create({username: 'cy', password: 'x'});
settings.Unknown.create(rows);
"""


def scripts(text):
    return {"server/boot/users.js": f"{START}{text}}};\n"}


def fixtures(project):
    return json.loads((project / "fixtures" / "loopback.json").read_text())


@pytest.mark.parametrize("text", [CALLBACKS, PROMISES, AWAITED, FOUND])
def test_a_role_is_given_to_the_user_that_the_script_names(tmp_path, text):
    project, output = import_application(tmp_path, MEMBER, scripts=scripts(text))

    with serving(project) as app:
        loaded = app.test_cli_runner().invoke(args=["fixtures", "load"])
        listed = app.test_cli_runner().invoke(args=["roles", "list"])

    assert [user.get("roles") for user in fixtures(project)["users"]] == [["boss"], None]
    assert "is left out" not in output
    assert loaded.exit_code == 0, loaded.output
    assert "ann@example.com" in listed.output
    assert "bo@example.com" not in listed.output


def test_a_role_of_a_user_without_a_model_is_told_where_tokens_name_the_model(tmp_path):
    member = {**MEMBER, "relations": {"accessTokens": TOKENS}}

    project, output = import_application(tmp_path, member, scripts=scripts(CALLBACKS))

    assert not [user for user in fixtures(project)["users"] if "roles" in user]
    assert "a user's role boss is left out: it is not certain whose" in output


@pytest.mark.parametrize("text", [SHADOWED, ASSIGNED_TWICE, OTHER_PRINCIPAL])
def test_what_is_not_certain_gives_nobody_a_role_and_is_told(tmp_path, text):
    project, output = import_application(tmp_path, MEMBER, scripts=scripts(text))

    assert not [user for user in fixtures(project)["users"] if "roles" in user]
    assert "a user's role " in output
    assert "is left out: it is not certain whose (server/boot/users.js:" in output


def test_each_row_that_is_given_by_a_variable_is_told(tmp_path):
    project, output = import_application(tmp_path, MEMBER, scripts=scripts(VARIABLES))

    told = [line.strip() for line in output.splitlines() if "server/boot/users.js:" in line]
    assert [line.partition(" (")[0] for line in told] == [
        "a row of Role is left out: it is no literal",
        "what Member.create creates is left out: only the JavaScript knows it",
        "a row of Member is left out: it is no literal",
        "a row of Member is left out: it has no email",
        "what settings.Unknown.create creates is left out: only the JavaScript knows it",
        "a user's role ? is left out: it is not certain whose",
    ]
    assert fixtures(project) == {"roles": ["boss"]}


def test_users_of_an_application_without_a_model_of_its_own_are_users(tmp_path):
    text = f"app.models.User.create({ANN});"

    project, _ = import_application(tmp_path, scripts=scripts(text))
    with serving(project) as app:
        result = app.test_cli_runner().invoke(args=["fixtures", "check"])

    assert PASSWORD not in (project / "fixtures" / "loopback.json").read_text()
    assert "created 1 (user 1)" in result.output
