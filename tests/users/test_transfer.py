"""The commands `flask users import` and `flask users export`."""

import csv
import json
import stat
from concurrent.futures import ThreadPoolExecutor

import bcrypt
import pytest
from argon2 import PasswordHasher
from sqlalchemy import event
from werkzeug.security import generate_password_hash

from app.audit.models import AuditRecord
from app.database.session import db
from app.users.models import User
from app.users.transfer import exporting, importing
from tests.conftest import NEW, Api
from tests.support.documents import blocks
from tests.support.rows import count, statements

BCRYPT = bcrypt.hashpw(NEW.encode(), bcrypt.gensalt(4)).decode()
HASHES = {
    "argon2": PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(NEW),
    "bcrypt": BCRYPT,
    "bcrypt-of-node": BCRYPT.replace("$2b$", "$2a$"),
    "scrypt": generate_password_hash(NEW, "scrypt:1024:8:1"),
    "pbkdf2": generate_password_hash(NEW, "pbkdf2:sha256:10"),
}
EVERY_COLUMN = "id,email,username,realm,emailVerified,created,disabledAt,roles"


@pytest.fixture
def file(tmp_path):
    """Write lines into a file; return its path."""

    def write(*lines, encoding="utf-8", name="users.csv"):
        (tmp_path / name).write_bytes("\n".join([*lines, ""]).encode(encoding))
        return str(tmp_path / name)

    return write


@pytest.fixture
def run(runner, secrets):
    """Run a command of `flask users`."""
    secrets.append(NEW)
    return lambda *arguments: runner.invoke(args=["users", *arguments])


def login(api, email, **fields):
    response = api("POST", "/users/login", {"email": email, "password": NEW, **fields})
    assert response.status_code == 200, email
    api.secrets.append(response.json["id"])
    return response.json["id"]


def test_users_with_hashes_or_passwords_are_imported_and_can_log_in(api, run, file):
    rows = [f'{name}@example.com,"{stored}",' for name, stored in HASHES.items()]
    path = file("email,passwordHash,password", *rows, "", f"clear@example.com,,{NEW}")

    result = run("import", path)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"Imported 6 users from {path}.\n"
    for name in (*HASHES, "clear"):
        login(api, f"{name}@example.com")


def test_every_column_is_imported(api, run, file):
    path = file(
        "roles,created,emailVerified,realm,username,email,passwordHash,disabledAt",
        f'clerk;admin,2020-02-03T04:05:06+01:00,TRUE,"acme, inc",Ada,ADA@example.com,{BCRYPT},',
        f",,,,,bob@example.com,{BCRYPT},2021-02-03T04:05:06Z",
        encoding="utf-8-sig",
    )

    result = run("import", path)

    ada, bob = json.loads(run("list", "--json").output)
    assert (result.exit_code, result.stderr) == (0, "Warning: no rule mentions the role clerk.\n")
    assert ada == {
        "id": 1,
        "email": "ada@example.com",
        "username": "Ada",
        "realm": "acme, inc",
        "emailVerified": True,
        "created": "2020-02-03T03:05:06.000Z",
        "disabledAt": None,
    }
    assert {**bob, "created": None} == {
        "id": 2,
        "email": "bob@example.com",
        "username": None,
        "realm": None,
        "emailVerified": False,
        "created": None,
        "disabledAt": "2021-02-03T04:05:06.000Z",
    }
    credentials = {"email": "bob@example.com", "password": NEW}
    assert api("POST", "/users/login", credentials).status_code == 401
    token = login(api, "ada@example.com", realm="acme, inc")
    assert api("GET", "/users/count", token=token).json == {"count": 2}


def test_the_documented_file_is_imported(run, file):
    (table,) = blocks("docs/deployment.md", "csv")

    result = run("import", file(table))

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Imported 2 users ")


@pytest.mark.both_databases
def test_all_problems_are_listed_by_line_and_nothing_is_imported(app, api, run, file):
    api.register("bob@example.com", username="bob")
    good = f"{BCRYPT},,,,"
    path = file(
        "email,username,passwordHash,password,created,emailVerified,roles",
        f"ada@example.com,ada,{good}",
        f"BOB@example.com,x,{good}",
        f"eve@example.com,Bob,{good}",
        f"ada@example.com,y,{good}",
        f"mallory@example.com,ADA,{good}",
        '"two',
        f'lines",,{good}',
        "a@example.com,,,,,,",
        f"b@example.com,,{BCRYPT},{NEW},,,",
        "c@example.com,,,short,,,",
        "d@example.com,,md5$12$ab,,,,",
        f"e@example.com,,{'$2b$12$' + 'x' * 300},,,,",
        f"f@example.com,,{BCRYPT.replace('$04$', '$31$')},,,,",
        f"g@example.com,,{BCRYPT},,2020-01-01T00:00:00,yes,$owner",
        f"h@example.com,,{BCRYPT},,2999-01-01T00:00:00Z,,a;;b",
        f"i@example.com,,{BCRYPT},,yesterday,,",
        "j@example.com",
    )

    result = run("import", path)

    *problems, last = result.output.splitlines()
    assert problems == [
        "line 3: `email` already exists",
        "line 4: `username` already exists",
        "line 5: `email` is that of line 2 too",
        "line 6: `username` is that of line 2 too",
        "line 7: `email` has a control character",
        "line 9: `password` or `passwordHash` is missing",
        "line 10: `password` is given twice, in clear and as a hash",
        "line 11: `password` is too short (minimum is 8 characters)",
        "line 12: `passwordHash` is not a hash of Argon2, bcrypt, or Werkzeug's scrypt or PBKDF2",
        "line 13: `passwordHash` is too long (maximum is 255 characters)",
        "line 14: `passwordHash` costs too much to verify",
        "line 15: `emailVerified` must be true or false; `created` must have a time zone;"
        " `roles` $owner cannot be granted: it is computed for each request",
        "line 16: `roles` must be printable, not blank and without ';';"
        " `created` must be between 1970 and now",
        "line 17: `created` must be a time, such as 2026-01-02T03:04:05Z",
        "line 18: `row` has 1 cells for 7 columns",
    ]
    assert result.exit_code == 1
    assert last == f"Error: {path} has {len(problems)} problems; nothing was imported."
    assert count(app, User) == 1


def test_the_first_hundred_problems_are_listed_and_all_are_counted(run, file):
    result = run("import", file("email", *["nobody"] * 600))

    *problems, last = result.output.splitlines()
    assert [problem.partition(":")[0] for problem in problems] == [
        f"line {n}" for n in range(2, 102)
    ]
    assert " has 600 problems" in last


@pytest.mark.parametrize(
    ("lines", "encoding", "said"),
    [
        ([""], "utf-8", "line 1 must name the columns, email among them, each once"),
        (["username,password"], "utf-8", "line 1 must name the columns, email among them"),
        (["email,email"], "utf-8", "line 1 must name the columns, email among them, each once"),
        (["email,owner"], "utf-8", "line 1: owner is not a column; id, email, username, realm,"),
        (["email", "a@b.de", "é@b.de"], "latin-1", "is not UTF-8"),
        (["email", "a@b.de", '"c@d.de', ""], "utf-8", "line 3: unexpected end of data"),
        (["email", "a" * 70_000], "utf-8", "line 2: has 65536 characters or more"),
        (["email", '"' + "a\n" * 70_000], "utf-8", "line 2: field larger than field limit"),
    ],
    ids=["empty", "no email", "twice", "unknown", "encoding", "open quote", "long", "long cell"],
)
def test_a_file_that_is_not_such_a_table_is_refused_in_one_sentence(
    run, file, lines, encoding, said
):
    path = file(*lines, encoding=encoding)

    result = run("import", path)

    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {path} cannot be imported: line ")
    assert said in result.output
    assert result.output.count("\n") == 1


def test_a_file_that_does_not_exist_is_one_sentence(run):
    result = run("import", "nowhere.csv")

    assert result.exit_code == 1
    assert result.output == "Error: nowhere.csv cannot be read: No such file or directory.\n"


def test_a_dry_run_imports_nothing(app, run, file):
    path = file("email,passwordHash", f"ada@example.com,{BCRYPT}")

    result = run("import", path, "--dry-run")

    said = f"Checked 1 users of {path}: all in order; nothing was imported.\n"
    assert (result.exit_code, result.output) == (0, said)
    assert count(app, User) == 0


@pytest.fixture
def batches_of_two(monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 2)
    monkeypatch.setattr(importing, "PAUSE", 0)
    monkeypatch.setattr(exporting, "PAGE", 2)


def test_a_problem_in_the_last_line_imports_nobody(app, run, file, batches_of_two):
    path = file("email,passwordHash", *[f"u{n % 6}@example.com,{BCRYPT}" for n in range(7)])

    result = run("import", path)

    assert result.exit_code == 1
    assert "line 8: `email` is that of line 2 too" in result.stderr
    assert count(app, User) == 0


def test_an_import_that_is_interrupted_goes_on_with_the_others(
    app, api, run, file, batches_of_two, monkeypatch
):
    path = file("email,passwordHash", *[f"u{n}@example.com,{BCRYPT}" for n in range(6)])
    pauses = []

    def register_before_the_last(_seconds):
        pauses.append(None)
        if len(pauses) == 2:
            # What the check cannot have seen.
            api.register("u5@example.com")

    monkeypatch.setattr("app.users.transfer.importing.sleep", register_before_the_last)

    failed = run("import", path)
    found = count(app, User), count(app, AuditRecord)
    again = run("import", path)
    resumed = run("import", path, "--skip-existing")

    assert (failed.exit_code, failed.stdout) == (1, "")
    how, why = failed.stderr.splitlines()
    assert how.startswith("4 of 6 users were imported; `users import --skip-existing ")
    assert why.startswith("Error: The database failed: ")
    # Four, and the one who registered: of the batch that failed there is nothing.
    assert found == (5, 5)
    assert again.exit_code == 1
    assert "line 2: `email` already exists" in again.stderr
    assert resumed.stdout == f"Imported 1 users from {path}. 5 were there already.\n"
    assert count(app, User) == 6


def test_an_import_that_is_killed_goes_on_with_the_others(
    app, run, file, batches_of_two, monkeypatch
):
    rows = [f"{n},u{n}@example.com,{BCRYPT}" for n in range(1, 6)]
    path = file("id,email,passwordHash", *rows)

    def interrupt(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("app.users.transfer.importing.sleep", interrupt)
    killed = run("import", path)
    monkeypatch.undo()
    resumed = run("import", path, "--skip-existing")

    assert killed.exit_code == 1
    assert "2 of 5 users were imported" in killed.stderr
    assert resumed.stdout == f"Imported 3 users from {path}. 2 were there already.\n"
    listed = {user["email"]: user["id"] for user in json.loads(run("list", "--json").stdout)}
    assert listed == {f"u{n}@example.com": n for n in range(1, 6)}


def test_users_who_are_there_are_left_out_and_counted(app, run, file):
    path = file("email,realm,passwordHash", f"ada@example.com,,{BCRYPT}")
    run("import", path)
    rows = f"ADA@example.com,,{BCRYPT}", f"ada@example.com,acme,{BCRYPT}"
    other = file("email,realm,passwordHash", *rows)

    checked = run("import", path, "--skip-existing", "--dry-run")
    imported = run("import", path, "--skip-existing")

    said = (
        f"Checked 1 users of {other}: all in order; nothing was imported. 1 were there already.\n"
    )
    assert checked.output == said
    assert imported.output == f"Imported 1 users from {other}. 1 were there already.\n"


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without"])
def test_others_write_while_users_are_imported(app, run, file, monkeypatch, ids):
    """Whoever registers in between gets none of the ids of the file."""
    rows = [f"{n if ids else ''},u{n}@example.com,{BCRYPT}" for n in range(1, 11)]
    path = file("id,email,passwordHash", *rows)
    monkeypatch.setattr(importing, "BATCH", 2)
    between = []

    def register_another(_seconds):
        with ThreadPoolExecutor(1) as pool:
            api = Api(app.test_client(), [])
            email = f"other{len(between)}@example.com"
            between.append(pool.submit(api.register, email).result()["id"])

    monkeypatch.setattr("app.users.transfer.importing.sleep", register_another)

    result = run("import", path)
    monkeypatch.undo()

    assert result.exit_code == 0, result.output
    assert len(between) == 4
    if ids:
        assert min(between) > 10
    assert count(app, User) == 14


def test_an_import_sends_a_few_statements_for_hundreds_of_rows(app, run, file, monkeypatch):
    monkeypatch.setattr(importing, "PAUSE", 0)
    roles = ["", "admin", "clerk;admin"]
    rows = [f"u{n}@example.com,{BCRYPT},{roles[n % 3]}" for n in range(1500)]
    path = file("email,passwordHash,roles", *rows)
    events = []

    def note(_connection, _cursor, statement, *_):
        events.append(statement)

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", note)
    with statements(app) as sent:
        result = run("import", path)
    with app.app_context():
        event.remove(db.engine, "before_cursor_execute", note)

    assert result.stdout == f"Imported 1500 users from {path}.\n"
    # A batch of 500 rows, which is a transaction: what is taken, the users, the roles of each name,
    # their assignments, and the records of both in the audit log.
    assert len([statement for statement in sent if statement.startswith("BEGIN")]) == 3
    assert len(events) <= 3 * 10
    holders = json.loads(run("list", "--json").output)
    assert len(holders) == 1500


def test_imported_users_and_their_roles_are_recorded_in_the_audit_log(run, runner, file):
    rows = [f"ada@example.com,{BCRYPT},clerk;admin", f"bob@example.com,{BCRYPT},"]

    run("import", file("email,passwordHash,roles", *rows))

    listed = json.loads(runner.invoke(args=["audit", "list", "--json"]).stdout)
    found = [(item["action"], item["userId"], item["actorId"], item["details"]) for item in listed]
    assert sorted(found, key=str) == [
        ("registered", 1, None, {}),
        ("registered", 2, None, {}),
        ("role-granted", 1, None, {"role": "admin"}),
        ("role-granted", 1, None, {"role": "clerk"}),
    ]


@pytest.mark.both_databases
def test_an_export_can_be_imported_again(app, api, run, file, tmp_path):
    formula = "=HYPERLINK(1)"
    original = file(
        f"{EVERY_COLUMN},passwordHash",
        f"3,'=a@example.com,'{formula},,false,2020-01-01T00:00:00.000Z,,,{BCRYPT}",
        f"5,'+a@example.com,''{formula},'-r,true,2020-01-01T00:00:00.000Z,2021-01-01T00:00:00.000Z,admin;boss,{BCRYPT}",
        f"9,o'a@example.com,'tis,,false,2020-01-01T00:00:00.000Z,,,{BCRYPT}",
    )
    run("import", original)
    copy = tmp_path / "copy.csv"

    exported = run("export", str(copy), "--with-password-hashes")

    assert (exported.exit_code, exported.stdout) == (0, f"Exported 3 users to {copy}.\n")
    assert exported.stderr.startswith("Warning: whoever can read the hashes can try to guess")
    assert copy.read_text() == (tmp_path / "users.csv").read_text()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    found = json.loads(run("list", "--json").output)
    assert [item["username"] for item in found] == [formula, f"'{formula}", "'tis"]
    assert [item["email"] for item in found][:2] == ["=a@example.com", "+a@example.com"]
    # The next one gets an id after those that were given.
    assert api.register("next@example.com")["id"] > 9


@pytest.mark.both_databases
def test_ids_are_kept_and_those_that_are_taken_or_none_are_refused(api, run, file):
    api.register("taken@example.com")
    rows = [
        f"7,a@example.com,{BCRYPT}",
        f"7,b@example.com,{BCRYPT}",
        f"1,c@example.com,{BCRYPT}",
        f"x,d@example.com,{BCRYPT}",
        f",e@example.com,{BCRYPT}",
    ]

    result = run("import", file("id,email,passwordHash", *rows))

    assert result.exit_code == 1
    assert "line 3: `id` is that of line 2 too" in result.stderr
    assert "line 4: `id` already exists" in result.stderr
    assert "line 5: `id` must be a whole number from 1" in result.stderr
    assert run("import", file("id,email,passwordHash", rows[4], rows[0])).exit_code == 0
    listed = {user["email"]: user["id"] for user in json.loads(run("list", "--json").stdout)}
    assert listed["a@example.com"] == 7
    assert listed["e@example.com"] > 7


def test_an_export_has_no_hashes_unless_they_are_asked_for(run, file):
    run("import", file("email,passwordHash,roles", f"ada@example.com,{BCRYPT},admin"))

    plain = run("export", "-")
    full = run("export", "-", "--with-password-hashes")

    assert (plain.exit_code, plain.stderr) == (0, "Exported 1 users to -.\n")
    header, ada = csv.reader(plain.stdout.splitlines())
    assert header == EVERY_COLUMN.split(",")
    assert [ada[0], ada[1], ada[7]] == ["1", "ada@example.com", "admin"]
    assert BCRYPT not in plain.output
    assert full.stdout.splitlines()[1].endswith(f",{BCRYPT}")


def test_an_export_replaces_no_file(run, file):
    path = file("precious")

    result = run("export", path)

    assert (result.exit_code, result.output) == (
        1,
        f"Error: {path} cannot be written: File exists.\n",
    )
    with open(path) as left:
        assert left.read() == "precious\n"
