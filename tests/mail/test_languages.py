"""In which language a mail is: that of the user or the client, if it exists, else English."""

import time
from functools import partial

import click
import pytest

from app.database.metadata import all_metadata
from app.database.session import db
from app.mail import send
from app.mail.subscribers import MAILS
from app.observability.origin import MAX_JOINED_LANGUAGES, parse_languages
from app.outbox.models import OutboxEvent
from app.testing.apps import close
from tests.conftest import Api
from tests.outbox.conftest import rows
from tests.support.apps import build
from tests.support.installation import ROOT

from .resets import LINK, parse, request_reset, written

ENGLISH, GERMAN = "Set a new password", "Neues Passwort festlegen"
TEMPLATES = ROOT / "app" / "templates" / "mail"


def mails(api):
    return [parse(path.read_bytes()) for path in written(api)]


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("de", GERMAN),
        ("de-AT", GERMAN),
        ("DE-de,de;q=0.9,en;q=0.8", GERMAN),
        ("en;q=0.5, de;q=0.6", GERMAN),
        ("fr-CH, fr;q=0.9, de;q=0.8, en;q=0.7", GERMAN),
        ("en-US,en;q=0.9,de;q=0.8", ENGLISH),
        ("fr", ENGLISH),
        ("de;q=0", ENGLISH),
        ("*", ENGLISH),
        ("", ENGLISH),
        ("../de", ENGLISH),
        ("deutsch", ENGLISH),
        ("x" * 60_000, ENGLISH),
        (f"de{',x' * 30_000}", GERMAN),
        (f"{'fr,' * 100}de", ENGLISH),
    ],
    ids=lambda value: value[:30],
)
def test_a_mail_is_in_the_language_of_the_request(mailing, header, subject):
    api = mailing()

    request_reset(api, headers={"Accept-Language": header})

    [message] = mails(api)
    language = "de" if subject == GERMAN else "en"
    assert (message["Subject"], message["Content-Language"]) == (subject, language)
    assert f'<html lang="{language}">' in message.get_body(["html"]).get_content()


def test_no_header_takes_long_to_read_or_is_kept_in_full():
    for part in ("a,", "de;q=", "-", "de-", "\0,;=\"'", "de;q=0.5,"):
        started = time.thread_time()
        found = parse_languages(part * (60_000 // len(part)))
        assert time.thread_time() - started < 0.05, part
        assert len(",".join(found)) <= MAX_JOINED_LANGUAGES


def test_the_languages_wait_with_the_event(make_app, secrets):
    """The mail is sent by another process, which does not see the request."""
    app = make_app(OUTBOX_IN_PROCESS=False)
    api = Api(app.test_client(), secrets)
    api.register()
    header = "de-DE,de;q=0.9,nds;q=0.8,en;q=0.7,fr;q=0.6,es;q=0.5,it;q=0.4"

    request_reset(api, headers={"Accept-Language": header})

    assert rows(app, OutboxEvent.languages, model=OutboxEvent) == [("de,nds,en,fr,es",)]
    assert mails(api)[0]["Subject"] == GERMAN


@pytest.fixture
def api_with(tmp_path, secrets, request):
    """Build an API whose users have a property of the application's own."""

    def api_with(name, **declared):
        url = f"sqlite:///{tmp_path}/own.sqlite"
        properties = {name: {"type": "string", **declared}}
        # The app of a command, which starts without the column.
        with click.Context(click.Command("db")):
            app = build(url, tmp_path / "mail", USER_PROPERTIES=properties)
        request.addfinalizer(partial(close, app))
        with app.app_context():
            all_metadata(app).create_all(db.engine)
        return Api(app.test_client(), secrets)

    return api_with


@pytest.mark.parametrize("name", ["language", "locale", "lang"])
@pytest.mark.parametrize(
    ("value", "header", "subject"),
    [
        ("de", "en", GERMAN),
        ("de_AT.UTF-8", "en", GERMAN),
        ("en-GB", "de", ENGLISH),
        ("fr", "de", GERMAN),
        (None, "de", GERMAN),
        ("", "de", GERMAN),
        ("German", "fr", ENGLISH),
    ],
)
def test_the_language_of_a_user_goes_before_that_of_the_request(
    api_with, name, value, header, subject
):
    api = api_with(name)
    api.register(**{name: value})

    request_reset(api, headers={"Accept-Language": header})

    assert mails(api)[0]["Subject"] == subject


def test_a_property_that_is_no_text_names_no_language(api_with):
    api = api_with("locale", type="object")
    api.register(locale={"de": True})

    request_reset(api, headers={"Accept-Language": "de"})

    assert mails(api)[0]["Subject"] == GERMAN


def test_a_language_lacks_no_mail_and_no_part_of_one():
    def parts(language):
        folder = TEMPLATES / language
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.txt"))

    languages = sorted(path.name for path in TEMPLATES.iterdir() if path.is_dir())

    assert languages == ["de", "en"]
    assert parts("de") == parts("en")
    # Those of events of users, and the one about a webhook that was disabled.
    assert len([path for path in (TEMPLATES / "en").iterdir() if path.is_dir()]) == len(MAILS) + 1


def test_a_third_language_is_a_folder_and_may_lack_mails(with_templates):
    api = with_templates(
        {
            "fr/reset_password/subject.txt": "Choisir un nouveau mot de passe",
            "fr/reset_password/body.txt": "Bonjour,\n\n{{ link }}\n\n{{ minutes }} minutes",
            # Without its text this one is none.
            "fr/email_changed/subject.txt": "Votre adresse",
        },
    )
    headers = {"Accept-Language": "fr,de;q=0.5"}

    request_reset(api, headers=headers)
    [first] = mails(api)
    token = api.login()["id"]
    api("PATCH", "/users/1", {"email": "eve@example.com"}, token=token, headers=headers)

    _, second = mails(api)
    assert first["Subject"] == "Choisir un nouveau mot de passe"
    assert first["Content-Language"] == "fr"
    assert LINK.search(first.get_body(["html"]).get_content())
    assert second["Subject"] == "Die E-Mail-Adresse Ihres Kontos wurde geändert"


def test_an_own_mail_is_in_the_language_of_its_request(with_templates):
    english = {"en/welcome/subject.txt": "Welcome", "en/welcome/body.txt": "Hello"}
    german = {"de/welcome/subject.txt": "Willkommen", "de/welcome/body.txt": "Guten Tag"}
    api = with_templates({**english, **german})
    app = api.client.application

    with app.test_request_context(headers={"Accept-Language": "de"}):
        send("welcome", "ada@example.com", {}, lifetime=60)
    with app.app_context():
        send("welcome", "ada@example.com", {}, lifetime=60)

    assert [message["Subject"] for message in mails(api)] == ["Willkommen", "Welcome"]
