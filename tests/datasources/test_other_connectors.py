"""Entries of LoopBack 3's datasources.json with other connectors than REST."""

import json

import pytest

from app.datasources import data_sources
from app.datasources.connectors import other_sources
from app.problems import ConfigurationError
from app.settings import SettingsSchema
from tests.definitions.conftest import running_a_command

SMTP = {"type": "SMTP", "host": "smtp.example.com", "auth": {"user": "me@x.org", "pass": "hidden7"}}
LOOPBACK = {
    "db": {"name": "db", "connector": "memory", "file": "data.json"},
    "my": {"connector": "mysql", "host": "db", "password": "hidden7", "url": "mysql://a:hidden7@b"},
    "mongo": {"connector": "loopback-connector-mongodb", "url": "mongodb://a:hidden7@b/c"},
    "kv": {"connector": "loopback-connector-redis", "port": None},
    "mail": {"connector": "mail", "transports": [SMTP]},
    "odd": {"connector": "mail", "transports": "smtp"},
    "files": {"connector": "loopback-component-storage", "provider": "azure"},
    "push": {"connector": "loopback-component-push", "installation": "installation"},
    "none": {"connector": "transient"},
    "geo": {
        "connector": "rest",
        "operations": [
            {
                "template": {"method": "GET", "url": "http://geo.example.com/{street=}"},
                "functions": {"all": "", "none": {}, "first": ["street", ""]},
            }
        ],
    },
}
TABLES = "models that are attached to it have tables in the database of DATABASE_URL"
URL = "smtp://me%40x.org:PASSWORD@smtp.example.com:587?starttls=1"


@pytest.fixture
def start(make_app, tmp_path, caplog):
    """Start an app with models beside its data sources; return it, and what was logged."""

    def start(sources, config=None, **models):
        folder = tmp_path / "models"
        folder.mkdir()
        for name, model in models.items():
            (folder / f"{name}.json").write_text(json.dumps({"name": name, **model}))
        if config:
            (tmp_path / "model-config.json").write_text(json.dumps(config))
        with running_a_command():
            app = make_app(DATA_SOURCES=sources, MODELS_FOLDER=str(folder))
        return app, caplog.messages

    return start


def test_they_are_warnings_that_say_what_takes_their_place(start):
    config = {name: {"dataSource": name} for name in ("db", "my", "mongo")}
    app, said = start(LOOPBACK, config, **{name: {} for name in config})

    others = {
        name: text.partition(": not used, as its connector is ")[2]
        for name, text in (
            (text.split()[2].strip(":"), text) for text in said if "not used" in text
        )
    }
    assert others == {
        "db": f"memory: {TABLES}",
        "my": f"mysql: {TABLES}",
        "mongo": f"loopback-connector-mongodb: {TABLES}",
        "kv": f"loopback-connector-redis: {TABLES}",
        "mail": f"mail: MAIL_URL would be {URL}, with the password in place of PASSWORD",
        "odd": "mail: MAIL_URL says how mails are sent",
        "files": "loopback-component-storage: files are stored by the providers filesystem and"
        " amazon alone",
        "push": "loopback-component-push: no push notifications are sent",
        "none": "transient: it stores nothing",
    }  # fmt: skip
    assert "hidden7" not in str(said)
    assert list(data_sources.of(app)) == ["geo"]
    assert list(data_sources.of(app)["geo"].operations) == ["all", "none", "first"]
    assert other_sources.of(app).keys() == others.keys()
    tables = app.test_cli_runner().invoke(args=["models", "list", "--json"]).output
    assert [row["table"] for row in json.loads(tables) if row["name"] in config] == sorted(config)
    strict = app.test_cli_runner().invoke(args=["datasources", "check", "--strict"])
    assert (strict.exit_code, strict.output) == (
        1,
        "Checked 1 data sources with 3 functions: usable, with warnings.\n",
    )


@pytest.mark.parametrize(
    ("transport", "url"),
    [
        ({"host": "m", "secure": True}, "smtps://m:465"),
        ({"host": "m", "port": 465}, "smtps://m:465"),
        ({"host": "m.example.com", "port": "25"}, "smtp://m.example.com:25?starttls=1"),
    ],
)
def test_the_address_of_a_mail_server_can_be_used(start, transport, url):
    _, said = start({"mail": {"connector": "mail", "transport": transport}})

    assert [text for text in said if f"MAIL_URL would be {url}," in text] == said
    assert SettingsSchema().load({"MAIL_URL": url})["MAIL_URL"] == url


def test_a_misspelt_connector_of_rest_stops_the_start(start):
    with pytest.raises(ConfigurationError, match="connector"):
        start({"geo": {"connector": "loopback-connector-rests"}})


@pytest.mark.parametrize("nothing", [None, False])
def test_a_model_without_a_data_source_is_only_a_base(start, nothing):
    base = {"properties": {"text": "string"}}
    config = {"Base": {"dataSource": nothing, "public": True}, "Note": {"dataSource": "db"}}
    app, said = start({}, config, Base=base, Note={"base": "Base"})

    listed = app.test_cli_runner().invoke(args=["models", "list"]).output
    shown = app.test_cli_runner().invoke(args=["models", "show", "Note"]).output
    assert "Base" not in listed
    assert "  property\ttext\tText" in shown
    assert said == [
        "model Base.json: is not served, but may be a base: model-config.json gives Base no data"
        " source"
    ]
