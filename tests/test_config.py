"""The layers of the settings, and the errors for invalid ones at start-up."""

import json
import re

import pytest
from flask import Flask

from app.config import configure, read_project_files, setting_sources
from app.factory import create_app
from app.problems import ConfigurationError
from app.testing.apps import close
from tests.support.installation import Installation


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


@pytest.fixture
def create(tmp_path):
    """Create an app in memory with these settings."""

    def create(**settings):
        defaults = {"SQLALCHEMY_DATABASE_URI": "sqlite://", "MAIL_FOLDER": str(tmp_path / "mail")}
        return create_app({**defaults, **settings})

    return create


@pytest.fixture
def instance(tmp_path_factory, monkeypatch):
    """The instance folder of apps that are created from it and the environment, as at a start."""
    folder = tmp_path_factory.mktemp("instance")
    monkeypatch.delenv("INSTANCE_PATH", raising=False)
    monkeypatch.setattr(Flask, "auto_find_instance_path", lambda app: str(folder))
    return folder


def read_settings():
    """Create the app from its instance folder and the environment; return its settings."""
    app = create_app()
    close(app)
    return app.config


def one_sentence(result):
    """Check that a process refused to start with one sentence, which it returns."""
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    [sentence] = result.stderr.strip().splitlines()
    return sentence


DEFAULTS = {
    "REST_API_ROOT": "/api",
    "PUBLIC_URL": "http://127.0.0.1:3000",
    "TOKEN_TTL": 1209600,
    "TOKEN_MAX_TTL": 31556926,
    "RESET_TOKEN_TTL": 900,
    "TOKEN_IN_QUERY": True,
    "TOKEN_MIDDLEWARE": None,
    "REALM_REQUIRED": False,
    "REALM_DELIMITER": None,
    "EMAIL_CASE_SENSITIVE": False,
    "PASSWORD_MIN_LENGTH": 8,
    "PASSWORD_MAX_LENGTH": 256,
    "PASSWORD_BLOCKLIST": True,
    "REGISTRATION_OPEN": True,
    "EMAIL_VERIFICATION": None,
    "VERIFY_TOKEN_TTL": 172800,
    "EMAIL_LOGIN": False,
    "LOGIN_CODE_KEYS": [],
    "SECOND_FACTOR": None,
    "FACTOR_KEYS": [],
    "PASSKEYS": None,
    "EMAIL_CHANGE": "direct",
    "REDIRECT_URLS": [],
    "CORS_ORIGINS": [],
    "COMPATIBILITY": None,
    "ACL_ERROR_STATUS": 403,
    "MAIL_URL": None,
    "MAIL_FROM": "Ostiary <no-reply@localhost>",
    "TRUSTED_PROXIES": 0,
    "MAX_BODY_BYTES": 102400,
    "STATEMENT_TIMEOUT": 5.0,
    "REQUEST_TIMEOUT": 10.0,
    "THREADS": 4,
    "LOG_FORMAT": "text",
    "DATA_SOURCE_CALLS": None,
    "PASSWORD_HASHES": None,
    "PASSWORD_HASH_WAIT": 10.0,
    "THROTTLE_ENABLED": True,
    "THROTTLES": {
        "login_identity": {"limit": 5, "seconds": 300, "lock": 60, "max_lock": 900},
        "login_address": {"limit": 10, "seconds": 60},
        "password_check": {"limit": 5, "seconds": 300, "lock": 60, "max_lock": 900},
        "factor_check": {"limit": 5, "seconds": 300, "lock": 60, "max_lock": 900},
        "credential": {"limit": 100, "seconds": 3600},
        "registration": {"limit": 20, "seconds": 60},
        "reset_email": {"limit": 5, "seconds": 900},
        "reset_recipient": {"limit": 10, "seconds": 900},
        "reset_address": {"limit": 20, "seconds": 60},
        "reset_confirmation": {"limit": 20, "seconds": 60},
        "verification_user": {"limit": 5, "seconds": 3600},
        "verification_address": {"limit": 20, "seconds": 60},
        "mail_recipient": {"limit": 10, "seconds": 3600},
        "notice_user": {"limit": 10, "seconds": 3600},
        "provider_login": {"limit": 20, "seconds": 60},
        "passkey_login": {"limit": 20, "seconds": 60},
        "mail_login_email": {"limit": 5, "seconds": 900},
        "mail_login_recipient": {"limit": 10, "seconds": 900},
        "mail_login_address": {"limit": 20, "seconds": 60},
    },
    "PROVIDERS": {},
}


def test_the_defaults_are_the_documented_ones(create):
    found = create().config

    assert {name: found[name] for name in DEFAULTS} == DEFAULTS


def test_the_token_middleware_has_defaults_for_missing_keys(create):
    middleware = create(TOKEN_MIDDLEWARE={"currentUserLiteral": "me"}).config["TOKEN_MIDDLEWARE"]

    assert middleware == {
        "cookies": ["access_token"],
        "headers": [],
        "params": [],
        "currentUserLiteral": "me",
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"TOKEN_TLL": 60}, ["TOKEN_TLL", "did you mean TOKEN_TTL?"]),
        ({"COLOUR": "red"}, ["COLOUR is not a setting"]),
        ({"SQLALCHEMY_DATABSE_URI": "x"}, ["SQLALCHEMY_DATABSE_URI is not a setting"]),
        ({"TOKEN_TTL": "soon"}, ["TOKEN_TTL cannot be used"]),
        ({"TOKEN_TTL": 0}, ["TOKEN_TTL"]),
        ({"TOKEN_TTL": 1.5}, ["TOKEN_TTL"]),
        ({"TOKEN_TTL": True}, ["TOKEN_TTL"]),
        ({"TOKEN_TTL": None}, ["TOKEN_TTL"]),
        ({"TOKEN_MAX_TTL": 10**18}, ["TOKEN_MAX_TTL"]),
        ({"RESET_TOKEN_TTL": 10**18}, ["RESET_TOKEN_TTL"]),
        ({"TRUSTED_PROXIES": -1}, ["TRUSTED_PROXIES"]),
        ({"MAX_BODY_BYTES": "many"}, ["MAX_BODY_BYTES"]),
        ({"REST_API_ROOT": "api"}, ["REST_API_ROOT"]),
        ({"REST_API_ROOT": "/api/"}, ["REST_API_ROOT"]),
        ({"PUBLIC_URL": "example.com"}, ["PUBLIC_URL", "http"]),
        ({"PUBLIC_URL": "https://example.com/"}, ["PUBLIC_URL", "trailing slash"]),
        ({"PUBLIC_URL": "http://[::1"}, ["PUBLIC_URL"]),
        ({"PUBLIC_URL": "https://bücher.example"}, ["PUBLIC_URL", "xn--"]),
        ({"REALM_REQUIRED": "maybe"}, ["REALM_REQUIRED"]),
        ({"REALM_DELIMITER": ""}, ["REALM_DELIMITER"]),
        ({"EMAIL_VERIFICATION": "always"}, ["EMAIL_VERIFICATION", "optional, required"]),
        ({"EMAIL_CHANGE": None}, ["EMAIL_CHANGE"]),
        ({"VERIFY_TOKEN_TTL": 0}, ["VERIFY_TOKEN_TTL"]),
        ({"REDIRECT_URLS": "/welcome"}, ["REDIRECT_URLS", 'a list, such as ["/welcome"]']),
        ({"CORS_ORIGINS": "https://x.example"}, ["CORS_ORIGINS", "must be a list, such as"]),
        ({"REDIRECT_URLS": ["welcome"]}, ["REDIRECT_URLS", "such as /welcome"]),
        ({"REDIRECT_URLS": ["//evil.example"]}, ["REDIRECT_URLS"]),
        ({"REDIRECT_URLS": ["/\\evil.example"]}, ["REDIRECT_URLS"]),
        ({"REDIRECT_URLS": ["javascript:alert(1)"]}, ["REDIRECT_URLS"]),
        ({"REDIRECT_URLS": ["https://x.example/\r\nSet-Cookie: a=b"]}, ["REDIRECT_URLS"]),
        ({"REDIRECT_URLS": ["/ok", "https://"]}, ["REDIRECT_URLS"]),
        ({"ACL_ERROR_STATUS": 418}, ["ACL_ERROR_STATUS"]),
        ({"COMPATIBILITY": "loopback2"}, ["COMPATIBILITY", "loopback3"]),
        ({"COMPATIBILITY": ["loopback3"]}, ["COMPATIBILITY"]),
        ({"TOKEN_MIDDLEWARE": "cookies"}, ["TOKEN_MIDDLEWARE"]),
        ({"TOKEN_MIDDLEWARE": {"cookies": "sid"}}, ["TOKEN_MIDDLEWARE", "cookies"]),
        ({"TOKEN_MIDDLEWARE": {"cookies": [7]}}, ["TOKEN_MIDDLEWARE", "cookies"]),
        ({"TOKEN_MIDDLEWARE": {"cookie": ["sid"]}}, ["TOKEN_MIDDLEWARE", "cookie"]),
        ({"PASSWORD_HASH": {"time_cost": 0}}, ["PASSWORD_HASH", "time_cost"]),
        ({"PASSWORD_HASHES": 0}, ["PASSWORD_HASHES"]),
        ({"PASSWORD_HASH_WAIT": -1}, ["PASSWORD_HASH_WAIT"]),
        ({"THROTTLES": {"login": {}}}, ["THROTTLES", "login"]),
        ({"THROTTLES": {"login_address": 7}}, ["THROTTLES", "login_address"]),
        ({"THROTTLES": {"login_address": {"limit": 0}}}, ["THROTTLES", "login_address: limit"]),
        ({"THROTTLES": {"login_address": {"lock": 60}}}, ["THROTTLES", "login_address: lock"]),
        ({"MAIL_URL": "mail.example.com"}, ["MAIL_URL", "smtp://"]),
        ({"MAIL_URL": "smtp://"}, ["MAIL_URL", "smtp://"]),
        ({"MAIL_URL": "smtp://host:99999"}, ["MAIL_URL"]),
        ({"MAIL_URL": "smtp://host:mail"}, ["MAIL_URL"]),
        ({"MAIL_URL": "smtp://[::1"}, ["MAIL_URL"]),
        ({"MAIL_URL": "smtp://ada:1/hush@127.0.0.1"}, ["MAIL_URL", "%40"]),
        ({"MAIL_URL": "smtp://ada:hush\uff1f@127.0.0.1"}, ["MAIL_URL", "%40"]),
        ({"MAIL_URL": "smtp://ada:hush%E4@127.0.0.1"}, ["MAIL_URL", "UTF-8"]),
        ({"MAIL_URL": "smtp://ada:hush\udce4@127.0.0.1"}, ["MAIL_URL", "UTF-8"]),
        ({"MAIL_URL": "smtp://127.0.0.1?starttls=yes"}, ["MAIL_URL", "?starttls=1"]),
        ({"MAIL_URL": "smtp://127.0.0.1?startls=1"}, ["MAIL_URL", "?starttls=1"]),
        ({"MAIL_URL": "smtps://127.0.0.1?starttls=1"}, ["MAIL_URL", "smtps"]),
        ({"MAIL_FROM": "Porter <porter@example.com>\r\nBcc: eve@example.com"}, ["MAIL_FROM"]),
        ({"SERVICE_NAME": ""}, ["SERVICE_NAME", "1 to 64 characters"]),
        ({"SERVICE_NAME": "x\r\nBcc: eve@example.com"}, ["SERVICE_NAME", "all printable"]),
        ({"SERVICE_NAME": "x" * 65}, ["SERVICE_NAME"]),
        ({"SQLALCHEMY_DATABASE_URI": "oops://x"}, ["the database cannot be used"]),
        ({"SQLALCHEMY_DATABASE_URI": "ostiary.sqlite"}, ["the database cannot be used"]),
        (
            {"SQLALCHEMY_DATABASE_URI": "sqlite:////nowhere/x.sqlite"},
            ["unable to open database file: /nowhere/x.sqlite"],
        ),
        (
            {"SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://ada:hush@h:port/x"},
            ["the database cannot be used"],
        ),
        (
            {"SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://ada:hush"},
            ["the database cannot be used", "user:password@host"],
        ),
        (
            {"READ_DATABASE_URL": "postgresql+psycopg://ada:hush"},
            ["READ_DATABASE_URL", "user:password@host"],
        ),
        *[
            ({"SQLALCHEMY_ENGINE_OPTIONS": options}, ["SQLALCHEMY_ENGINE_OPTIONS"])
            for options in ({"size": 2}, {"pool": 1})
        ],
        *[
            ({name: value}, [name])
            for name in ("MODELS_FOLDER", "TEMPLATES_FOLDER", "PROJECT_FILE", "MAIL_FOLDER")
            for value in ("x" * 300, "a\0b")
        ],
        ({"STATIC_FOLDER": "a\0b"}, ["STATIC_FOLDER"]),
        (
            {"SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://ada:hush@127.0.0.1:1/x"},
            ["the database cannot be used", "127.0.0.1"],
        ),
        (
            {"SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://ada:p@hush@127.0.0.1:1/x"},
            ["SQLALCHEMY_DATABASE_URI", "%40"],
        ),
        (
            {"SQLALCHEMY_DATABASE_URI": "postgresql+psycopg://ada:p@x:hush@127.0.0.1/x"},
            ["SQLALCHEMY_DATABASE_URI", "%40"],
        ),
        ({"MAIL_URL": "smtp://ada:p/hush@127.0.0.1"}, ["MAIL_URL"]),
        ({"STATEMENT_TIMEOUT": 0}, ["STATEMENT_TIMEOUT"]),
        ({"THREADS": 0}, ["THREADS"]),
        ({"DATA_SOURCE_CALLS": 0}, ["DATA_SOURCE_CALLS"]),
        ({"TOKEN_TTL": 61, "TOKEN_MAX_TTL": 60}, ["TOKEN_TTL", "61", "TOKEN_MAX_TTL", "60"]),
        ({"TOKEN_MAX_TTL": 60}, ["TOKEN_TTL cannot be used", "TOKEN_MAX_TTL, which is 60"]),
        (
            {"PASSWORD_MIN_LENGTH": 9, "PASSWORD_MAX_LENGTH": 8},
            ["PASSWORD_MIN_LENGTH", "PASSWORD_MAX_LENGTH, which is 8"],
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_an_invalid_setting_is_one_sentence_that_names_it(create, settings, words):
    with pytest.raises(ConfigurationError) as caught:
        create(**settings)

    sentence = str(caught.value)
    assert all(word in sentence for word in words)
    assert len(sentence.splitlines()) == 1
    assert "hush" not in sentence


def test_a_mail_folder_that_cannot_be_written_is_one_sentence(create, tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError, match=r"mail folder .*file/mail cannot be written"):
        create(MAIL_FOLDER=str(tmp_path / "file" / "mail"))


def test_with_a_mail_server_no_folder_is_needed(create, tmp_path):
    (tmp_path / "file").touch()

    create(MAIL_FOLDER=str(tmp_path / "file" / "mail"), MAIL_URL="smtp://127.0.0.1")


def test_the_layers_override_each_other_in_order(instance, monkeypatch):
    (instance / "config.py").write_text("TOKEN_TTL = 60\nREALM_REQUIRED = 1\n")

    found = read_settings()
    monkeypatch.setenv("APP_TOKEN_TTL", "90")

    names = ("TOKEN_MAX_TTL", "REALM_REQUIRED", "TOKEN_TTL")
    assert [found[name] for name in names] == [31556926, True, 60]
    assert read_settings()["TOKEN_TTL"] == 90


@pytest.mark.live
def test_a_process_reads_the_instance_file_and_the_environment(installation):
    (installation.folder / "instance/config.py").write_text("TOKEN_TTL = 60\nREALM_REQUIRED = 1\n")

    names = ("TOKEN_MAX_TTL", "REALM_REQUIRED", "TOKEN_TTL")
    found = installation.settings(*names, APP_TOKEN_TTL="90")

    assert found == ["31556926", "True", "90"]


@pytest.mark.usefixtures("instance")
def test_double_underscores_in_the_environment_nest(monkeypatch):
    monkeypatch.setenv("APP_TOKEN_MIDDLEWARE__currentUserLiteral", "me")
    monkeypatch.setenv("APP_TOKEN_MIDDLEWARE__cookies", '["sid"]')
    monkeypatch.setenv("APP_THROTTLES__login_identity__lock", "30")

    found = read_settings()

    assert found["TOKEN_MIDDLEWARE"]["cookies"] == ["sid"]
    assert found["TOKEN_MIDDLEWARE"]["currentUserLiteral"] == "me"
    login = {"limit": 5, "seconds": 300, "lock": 30, "max_lock": 900}
    assert found["THROTTLES"]["login_identity"] == login


@pytest.mark.usefixtures("instance")
def test_variables_may_name_files_that_have_the_value(monkeypatch, tmp_path):
    def write(name, text):
        file = tmp_path / name
        file.write_text(text)
        monkeypatch.setenv(name, str(file))

    write("DATABASE_URL_FILE", "sqlite:///:memory:\n")
    write("APP_MAIL_URL_FILE", "smtp://ada:s3cret@mail.example.com\r\n")
    write("APP_REDIRECT_URLS_FILE", '["https://a.example.com"]')
    write("APP_THROTTLES__login_identity__lock_FILE", "30\n")

    found = read_settings()

    assert found["SQLALCHEMY_DATABASE_URI"] == "sqlite:///:memory:"
    assert found["MAIL_URL"] == "smtp://ada:s3cret@mail.example.com"
    assert found["REDIRECT_URLS"] == ["https://a.example.com"]
    assert found["THROTTLES"]["login_identity"]["lock"] == 30


@pytest.mark.usefixtures("instance")
def test_a_file_that_cannot_be_read_is_named(monkeypatch, tmp_path):
    (tmp_path / "key").write_bytes(b"s3cret\xff")
    for name, reason in {"none": "No such file or directory", "key": "it is not UTF-8"}.items():
        monkeypatch.setenv("APP_MAIL_URL_FILE", str(tmp_path / name))

        with pytest.raises(ConfigurationError) as caught:
            create_app()

        path = tmp_path / name
        assert str(caught.value) == f"APP_MAIL_URL_FILE cannot be read: {path}: {reason}"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_database_url_may_have_the_usual_schemes(monkeypatch, scheme):
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://ada@127.0.0.1:1/x")

    with pytest.raises(ConfigurationError, match='connection to server at "127'):
        create_app()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"APP_TOKEN_TLL": "60"}, ["APP_TOKEN_TLL", "did you mean APP_TOKEN_TTL?"]),
        ({"APP_TOKEN_TTL": "soon"}, ["APP_TOKEN_TTL cannot be used"]),
        ({"APP_TOKEN_TTL": "[60]"}, ["APP_TOKEN_TTL cannot be used"]),
        ({"APP_TOKEN_TTL__x": "60"}, ["APP_TOKEN_TTL cannot be used"]),
        ({"APP_COLOUR__x": "60"}, ["APP_COLOUR is not a setting"]),
        ({"APP_TOKEN_TTL": "60", "APP_TOKEN_TTL__x": "1"}, ["environment"]),
        ({"DATABASE_URL": "oops"}, ["the database cannot be used"]),
        ({"APP_TOKEN_TLL_FILE": "/dev/null"}, ["APP_TOKEN_TLL", "did you mean APP_TOKEN_TTL?"]),
        ({"APP_TOKEN_TTL_FILE": "/dev/null"}, ["APP_TOKEN_TTL cannot be used"]),
        ({"app_token_ttl_file": "x"}, ["app_token_ttl_file", "write APP_TOKEN_TTL_FILE"]),
        (
            {"APP_TOKEN_TTL": "60", "APP_TOKEN_TTL_FILE": "/dev/null"},
            ["APP_TOKEN_TTL and APP_TOKEN_TTL_FILE are both set"],
        ),
        (
            {"APP_PASSWORD_HASH_FILE": "/dev/null", "APP_PASSWORD_HASH__time_cost": "2"},
            ["APP_PASSWORD_HASH_FILE and APP_PASSWORD_HASH__time_cost are both set"],
        ),
        (
            {"DATABASE_URL": "sqlite:///:memory:", "DATABASE_URL_FILE": "/dev/null"},
            ["DATABASE_URL and DATABASE_URL_FILE are both set"],
        ),
        ({"app_token_ttl": "60"}, ["app_token_ttl in the environment", "write APP_TOKEN_TTL"]),
        ({"APP_token_ttl": "60"}, ["APP_token_ttl in the environment", "write APP_TOKEN_TTL"]),
        ({"app_password_hash__time_cost": "2"}, ["write APP_PASSWORD_HASH__time_cost"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_an_invalid_environment_variable_is_named_with_its_prefix(monkeypatch, variables, words):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigurationError) as caught:
        create_app()

    assert all(word in str(caught.value) for word in words)


@pytest.mark.live
def test_a_setting_without_its_prefix_is_a_warning_as_it_may_belong_to_another_program(
    installation,
):
    result = installation.run(
        "-c",
        "from wsgi import app; print(app.config['MAIL_URL'], app.config['THREADS'])",
        MAIL_URL="smtp://mail.example.com",
        mail_from="x@example.com",
        THREADS="3",
        HOST="127.0.0.1",
        PORT="3000",
        WEB_CONCURRENCY="1",
    )

    assert result.stdout.strip() == "None 3"
    assert "MAIL_URL in the environment is not read; the setting is APP_MAIL_URL" in result.stderr
    assert "mail_from in the environment is not read; the setting is APP_MAIL_FROM" in result.stderr
    assert result.stderr.count("is not read") == 2


def test_a_lower_case_name_in_the_instance_file_is_one_sentence(instance):
    (instance / "config.py").write_text("token_ttl = 60\n")

    with pytest.raises(
        ConfigurationError, match=r"config\.py: token_ttl is not a setting; write TOKEN_TTL$"
    ):
        create_app()


@pytest.mark.live
@pytest.mark.parametrize(
    "door",
    [("-c", "import wsgi"), ("-m", "flask", "users", "list"), ("-m", "gunicorn", "wsgi:app")],
    ids=["python", "flask", "gunicorn"],
)
def test_a_process_that_cannot_start_prints_one_sentence(installation, door):
    result = installation.run(*door, APP_TOKEN_TLL="60", PORT="0")

    sentence = one_sentence(result)
    assert sentence == "ostiary: APP_TOKEN_TLL is not a setting; did you mean APP_TOKEN_TTL?"


@pytest.mark.live
@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"DATABASE_URL": "postgresql://ada:hush@127.0.0.1:1/x"}, "database"),
        ({"APP_MAIL_FOLDER": "/proc/nowhere"}, "mail folder"),
    ],
    ids=["unreachable database", "unusable mail folder"],
)
def test_a_process_without_a_dependency_prints_one_sentence(installation, variables, word):
    sentence = one_sentence(installation.run("-m", "flask", "users", "list", **variables))

    assert word in sentence
    assert "hush" not in sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('\nMAIL_URL = = "smtp://ada:hush@x"\n', ":2: SyntaxError: invalid syntax"),
        ("import json\n\njson.loads('{')\n", ":3: JSONDecodeError: Expecting property name"),
    ],
    ids=["syntax", "value"],
)
def test_an_error_in_the_instance_file_is_one_sentence_with_its_line(instance, text, sentence):
    path = instance / "config.py"
    path.write_text(text)

    with pytest.raises(ConfigurationError) as caught:
        create_app()

    assert str(caught.value).startswith(f"{path}{sentence}")
    assert len(str(caught.value).splitlines()) == 1
    assert "hush" not in str(caught.value)


def test_a_file_may_begin_with_a_byte_order_mark(instance):
    entry = {"connector": "rest", "baseURL": "https://geo.example"}
    (instance / "datasources.json").write_text(json.dumps({"geo": entry}), "utf-8-sig")

    assert read_project_files(str(instance))["DATA_SOURCES"] == {"geo": entry}


@pytest.mark.parametrize("text", ['{"geo": ', '{"geo": {"connector": "res"}}'])
def test_a_broken_file_of_data_sources_is_one_sentence(instance, text):
    (instance / "datasources.json").write_text(text)

    with pytest.raises(ConfigurationError) as caught:
        create_app()

    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.live
def test_a_command_on_a_database_without_tables_is_one_sentence(installation):
    sentence = one_sentence(installation.run("-m", "flask", "users", "list"))

    assert "database" in sentence or "flask db upgrade" in sentence


@pytest.mark.live
@pytest.mark.usefixtures("instance")
def test_gunicorn_and_the_app_read_the_same_number_of_threads(installation, monkeypatch):
    monkeypatch.setenv("THREADS", "3")

    assert read_settings()["THREADS"] == 3
    assert "threads = 3" in gunicorn_settings(installation, THREADS="3")
    assert "threads = 4" in gunicorn_settings(installation, THREADS="")


def gunicorn_settings(installation, **variables):
    result = installation.run("-m", "gunicorn", "--print-config", "wsgi:app", **variables)
    return re.sub(r" +", " ", result.stdout)


@pytest.mark.live
def test_gunicorn_rejects_tls_settings(installation):
    result = installation.run("-m", "gunicorn", "--certfile", "wsgi.py", "wsgi:app", PORT="0")

    assert result.returncode != 0
    assert "a proxy in front does" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.live
def test_the_instance_folder_may_be_elsewhere_but_must_exist(installation, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "config.py").write_text("TOKEN_TTL = 77")

    values = installation.settings("TOKEN_TTL", INSTANCE_PATH=str(folder))
    failed = installation.run("-m", "flask", "users", "list", INSTANCE_PATH=f"{folder}s")

    assert values == ["77"]
    assert (folder / "ostiary.sqlite").exists()
    assert failed.returncode == 1
    assert failed.stderr == f"ostiary: INSTANCE_PATH is no folder: {folder}s\n"


def test_it_is_known_which_layer_a_setting_comes_from(instance, tmp_path, monkeypatch):
    (instance / "config.py").write_text("TOKEN_TTL = 600\nTHREADS = 2\n")
    (tmp_path / "url").write_text("smtp://127.0.0.1:25")
    for name, value in {
        "APP_TOKEN_SLIDING": "true",
        "APP_PASSWORD_HASH__time_cost": "1",
        "APP_MAIL_URL_FILE": str(tmp_path / "url"),
        "DATABASE_URL": "sqlite://",
        "THREADS": "3",
    }.items():
        monkeypatch.setenv(name, value)
    app = Flask("app")

    configure(app, None)

    sources = setting_sources.of(app)
    by_environment = {name for name, source in sources.items() if source == "environment"}
    assert sources["TOKEN_TTL"] == "config"
    assert {
        *("TOKEN_SLIDING", "PASSWORD_HASH", "MAIL_URL", "SQLALCHEMY_DATABASE_URI", "THREADS"),
    } <= by_environment
    assert "RESET_TOKEN_TTL" not in sources
