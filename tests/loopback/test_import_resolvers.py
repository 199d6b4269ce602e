"""Role resolvers in boot scripts: translated into dynamic roles, or stubs."""

import pytest

from app.database.session import transaction
from app.rest.collection import get_resource

from .projects import import_application, log_in, serving

ACLS = [
    {"principalType": "ROLE", "principalId": "$everyone", "permission": "DENY"},
    {"principalType": "ROLE", "principalId": "member", "permission": "ALLOW"},
]
PERSON = {"name": "Person", "base": "User"}
PROJECT = {
    "name": "Project",
    "properties": {"title": "string"},
    "relations": {"owner": {"type": "belongsTo", "model": "Person"}},
    "acls": ACLS,
}
TEAM = {
    "name": "Team",
    "properties": {"state": "string", "left": "date", "code": "string"},
    "relations": {
        "project": {"type": "belongsTo", "model": "Project"},
        "member": {"type": "belongsTo", "model": "Person"},
        "owner": {"type": "belongsTo", "model": "Person"},
    },
}
# The example of LoopBack's documentation.
DOCUMENTED = """function(role, context, cb) {
  function reject() { process.nextTick(function() { cb(null, false); }); }
  // if the target model is not project
  if (context.modelName !== 'Project') {
    return reject();
  }
  var userId = context.accessToken.userId;
  if (!userId) return reject();
  context.model.findById(context.modelId, function(err, project) {
    if (err || !project) return reject();
    var Team = app.models.Team;
    Team.count({ownerId: project.ownerId, memberId: userId}, function(err, count) {
      if (err) {
        console.log(err);
        return cb(null, false);
      }
      cb(null, count > 0); // true = is a team member
    });
  });
}"""
OF_ROW = "{projectId: context.modelId, memberId: context.accessToken.userId}"
CERTAIN = [
    DOCUMENTED,
    f"(role, context, cb) => app.models.Team.count({OF_ROW}, (err, count) => cb(err, count > 0))",
    f"""async (role, context) => {{
      if (!context.accessToken || !context.modelId) return false;
      const count = await app.models.Team.count({OF_ROW});
      return count > 0;
    }}""",
    f"async (role, context) => (await app.models.Team.count({OF_ROW})) > 0",
    f"(role, context) => app.models.Team.count({OF_ROW}).then(count => count >= 1)",
    f"""function(role, context, next) {{
      app.models.Team.count({OF_ROW}).then(n => next(null, !!n)).catch(next);
    }}""",
    f"""(role, context, cb) => {{
      const where = {OF_ROW};
      app.models.Team.findOne({{where}}, (err, found) => {{
        if (err) return cb(err);
        if (found) return cb(null, true);
        cb(null, false);
      }});
    }}""",
    f"""async (role, context) => {{
      const found = await app.models.Team.findOne({{where: {OF_ROW}}});
      return found !== null;
    }}""",
]
UNCERTAIN = {
    "no limit of the caller": "{projectId: context.modelId}",
    "no limit of the row": "{memberId: context.accessToken.userId}",
    "a property that is not declared": f"{OF_ROW[:-1]}, other: 1}}",
    "a value of another type": f"{OF_ROW[:-1]}, state: 1}}",
    "an operator": f"{OF_ROW[:-1]}, state: {{neq: 'a'}}}}",
    "a variable": f"{OF_ROW[:-1]}, state: state}}",
    "an id that is a text": "{code: context.modelId, memberId: context.accessToken.userId}",
}
OTHER_ANSWERS = [
    f"(role, context, cb) => app.models.Team.count({OF_ROW}, (err, n) => cb(null, n > 1))",
    f"(role, context, cb) => app.models.Team.count({OF_ROW}, (err, n) => cb(null, !n))",
    f"async (role, context) => app.models.Team.count({OF_ROW}) > 0",
    f"""async (role, context) => {{
      if (context.remotingContext.method.name === 'find') return true;
      return (await app.models.Team.count({OF_ROW})) > 0;
    }}""",
    f"""async (role, context) => {{
      if (!context.modelId) return true;
      return (await app.models.Team.count({OF_ROW})) > 0;
    }}""",
    f"""async (role, context) => {{
      log(context);
      return (await app.models.Team.count({OF_ROW})) > 0;
    }}""",
    f"""(role, context) => app.models.Team.count({OF_ROW})
      .then(n => n > 0).catch(() => true)""",
    # What would be endless, or too deep.
    """(role, context, cb) => {
      function reject() { return reject(); }
      if (!context.modelId) return reject();
    }""",
    f"""(role, context, cb) => {{
      if ({"!context.modelId || " * 3000} true) return cb(null, false);
    }}""",
    f"(role, context, cb) => app.models.Team.count({OF_ROW}){'.catch(cb)' * 1000}",
]


def _import(folder, resolver):
    script = f"module.exports = app => app.models.Role.registerResolver('member', {resolver});"
    entries = {"User": {"dataSource": "db", "public": False}}.items()
    scripts = {"server/boot/roles.js": script}
    models = (PERSON, PROJECT, TEAM)
    return import_application(folder, *models, scripts=scripts, entries=entries)


@pytest.mark.parametrize("resolver", CERTAIN)
def test_a_resolver_that_looks_for_a_row_of_the_caller_is_a_dynamic_role(tmp_path, resolver):
    project, output = _import(tmp_path, resolver)

    assert "the role member is translated (server/boot/roles.js:1)" in output
    assert not (project / "models" / "_loopback.py").exists()
    with serving(project) as app:
        client = app.test_client()
        ann = log_in(app, "/api/People")
        bo = log_in(app, "/api/People", {"email": "bo@example.com", "password": "a quiet harbour"})
        with app.app_context(), transaction():
            get_resource("Projects").insert([{"owner_id": 1}, {"owner_id": 2}])
            get_resource("Teams").insert([{"project_id": 1, "member_id": 2, "owner_id": 1}])
        statuses = [
            client.get("/api/Projects/1", headers=headers).status_code for headers in (ann, bo, {})
        ]
        changed = client.patch("/api/Projects/1", json={"title": "a"}, headers=bo).json
        listed = client.get("/api/Projects", headers=bo).json

    assert statuses == [404, 200, 401]
    assert changed["title"] == "a"
    assert [row["id"] for row in listed] == [1]


@pytest.mark.parametrize("where", UNCERTAIN.values(), ids=UNCERTAIN)
def test_one_with_another_condition_is_a_stub(tmp_path, where):
    count = f"app.models.Team.count({where}, (err, count) => cb(null, count > 0))"

    project, output = _import(tmp_path, f"(role, context, cb) => {count}")

    assert "is translated" not in output
    assert '@role_stub("member")' in (project / "models" / "_loopback.py").read_text()


@pytest.mark.parametrize("resolver", OTHER_ANSWERS)
def test_one_with_another_answer_is_a_stub(tmp_path, resolver):
    project, _ = _import(tmp_path, resolver)

    assert '@role_stub("member")' in (project / "models" / "_loopback.py").read_text()
