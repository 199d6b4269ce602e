"""The pages to which mails lead, in the languages of the mails, and by the service's name."""

import re
from functools import partial

import click
import pytest
from jinja2 import ChoiceLoader, DictLoader

from app.database.metadata import all_metadata
from app.database.session import db
from app.oauth.models import ExternalIdentity
from app.signals import reset_password_request, verification_request
from app.testing.apps import close
from tests.conftest import NEW, Api
from tests.support.apps import build
from tests.support.installation import ROOT
from tests.support.rows import expire

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"}
PAGES = ROOT / "app" / "templates" / "pages"
# Words that only pages in English have.
ENGLISH = re.compile(r"\b(the|your|password|address|has|is|log|out|open|added|it)\b", re.I)


@pytest.fixture
def app(shared_app):
    return shared_app(EMAIL_VERIFICATION="optional", EMAIL_CHANGE="confirmed")


@pytest.fixture
def mailed(app, api, secrets):
    """The tokens of a user's mails: of a reset, and of a confirmation."""
    tokens = {}

    def note(name, sender, info):
        secrets.append(info["accessToken"].id)
        tokens[name] = info["accessToken"].id

    secrets.append(NEW)
    receivers = partial(note, "reset"), partial(note, "confirm")
    with (
        reset_password_request.connected_to(receivers[0], sender=app),
        verification_request.connected_to(receivers[1], sender=app),
    ):
        api.register()
        api("POST", "/users/reset", {"email": "ada@example.com"})
    return tokens


def words(response, language):
    """Check the language of a page, and return what its reader sees."""
    assert f'<html lang="{language}">' in response.text
    body = re.sub(r"<(style|title).*?</\1>", "", response.text, flags=re.DOTALL)
    text = " ".join(re.sub(r"<[^>]*>", " ", body).split())
    if language == "de":
        assert not ENGLISH.search(text), text
    return text


@pytest.mark.parametrize(
    ("headers", "language"), [(GERMAN, "de"), ({}, "en"), ({"Accept-Language": "en,de"}, "en")]
)
def test_the_form_for_a_password_is_in_the_language_of_the_browser(
    client, mailed, headers, language
):
    shown = client.get(f"/reset-password?access_token={mailed['reset']}", headers=headers)

    text = words(shown, language)
    assert ("Neues Passwort festlegen" in text) is (language == "de")
    assert ("Mindestens 8 Zeichen." in text) is (language == "de")
    assert f'name="language" value="{language}"' in shown.text


PROBLEMS = {
    "short": "Das Passwort ist zu kurz: Es braucht mindestens 8 Zeichen.",
    "x" * 300: "Das Passwort ist zu lang: Es darf höchstens 256 Zeichen haben.",
    "password123": "Dieses Passwort verwenden zu viele. Bitte wählen Sie ein anderes.",
    "ada@example.com": "Das Passwort darf nicht Ihre E-Mail-Adresse oder Ihr Benutzername sein.",
    "": "Bitte geben Sie ein Passwort ein.",
}


@pytest.mark.parametrize("password", PROBLEMS)
def test_each_problem_of_a_password_is_said_in_german(client, mailed, password):
    form = {"access_token": mailed["reset"], "newPassword": password, "language": "de"}

    response = client.post("/reset-password", data=form)

    assert response.status_code == 422
    assert PROBLEMS[password] in words(response, "de")
    assert "<title>Fehler: " in response.text


def test_too_many_attempts_are_said_in_german(make_app, secrets):
    rate = {"reset_confirmation": {"limit": 1, "seconds": 60}}
    app = make_app(THROTTLE_ENABLED=True, THROTTLES=rate)
    answers = [app.test_client().post("/reset-password", headers=GERMAN) for _ in range(2)]

    assert "Im Moment sind es zu viele Anfragen." in words(answers[1], "de")
    assert answers[1].status_code == 429
    assert answers[1].headers["Retry-After"]


def test_a_password_is_set_in_german(client, mailed):
    form = {"access_token": mailed["reset"], "newPassword": NEW, "language": "de"}

    done = client.post("/reset-password", data=form)
    again = client.post("/reset-password", data=form)

    assert "Ihr neues Passwort gilt" in words(done, "de")
    assert "Dieser Link funktioniert nicht mehr" in words(again, "de")


def test_an_address_is_confirmed_in_german(app, client, api, mailed):
    api.login()
    with app.app_context():
        identity = {"issuer": "https://x.example", "subject": "1", "provider": "x", "profile": {}}
        db.session.add(ExternalIdentity(user_id=1, **identity))
        db.session.commit()
    asked = client.get(f"/confirm-email?token={mailed['confirm']}", headers=GERMAN)
    form = {"token": mailed["confirm"], "language": "de", "endSessions": "yes"}
    done = client.post("/confirm-email", data=form)
    again = client.post("/confirm-email", data=form)

    text = words(asked, "de")
    assert "Ist ada@example.com die E-Mail-Adresse Ihres Kontos?" in text
    assert "Anmeldemöglichkeiten" in text
    assert re.search(r"x, hinzugefügt am \d\d\.\d\d\.\d{4}", text)
    assert "Überall abmelden: 1 Sitzung ist offen" in text
    assert "Ihre E-Mail-Adresse ist bestätigt" in words(done, "de")
    assert "Was Sie nicht angekreuzt haben, wurde entfernt. Sie wurden überall abgemeldet." in (
        words(done, "de")
    )
    assert again.status_code == 400
    assert "Dieser Link funktioniert nicht mehr" in words(again, "de")


def test_a_link_that_has_expired_is_said_in_the_language_of_the_browser(app, client, mailed):
    expire(app, mailed["reset"])

    shown = client.get(f"/reset-password?access_token={mailed['reset']}", headers=GERMAN)

    assert "Dieser Link funktioniert nicht mehr" in words(shown, "de")


@pytest.mark.parametrize("language", ["../../mail/de", "xx", "deutsch", "de/../en", ""])
def test_the_language_of_a_form_is_one_or_none(client, language):
    shown = client.post("/reset-password", data={"language": language})

    assert shown.status_code == 401
    words(shown, "en")


def test_the_page_of_a_user_is_in_the_users_language(tmp_path, secrets, request):
    secrets.append(NEW)
    with click.Context(click.Command("db")):
        url, properties = f"sqlite:///{tmp_path}/own.sqlite", {"locale": {"type": "string"}}
        app = build(url, tmp_path / "mail", USER_PROPERTIES=properties)
    request.addfinalizer(partial(close, app))
    with app.app_context():
        all_metadata(app).create_all(db.engine)
    api, tokens = Api(app.test_client(), secrets), []
    api.register(locale="de_DE")

    def note(sender, info):
        tokens.append(info["accessToken"].id)

    with reset_password_request.connected_to(note, sender=app):
        api("POST", "/users/reset", {"email": "ada@example.com"})
    english = {"Accept-Language": "en"}
    shown = api.client.get(f"/reset-password?access_token={tokens[0]}", headers=english)
    form = {"access_token": tokens[0], "newPassword": NEW, "language": "de"}
    done = api.client.post("/reset-password", data=form, headers=english)

    words(shown, "de")
    assert "Ihr neues Passwort gilt" in words(done, "de")


def test_a_language_has_all_pages():
    def names(language):
        return sorted(path.name for path in (PAGES / language).iterdir())

    languages = [path.name for path in PAGES.iterdir() if path.is_dir()]

    assert sorted(languages) == ["de", "en"]
    assert names("de") == names("en")


def test_a_third_language_is_a_folder_and_may_lack_words(make_app):
    app = make_app()
    french = """{% extends "pages/en/reset_password.html" %}{% block language %}fr{% endblock %}
        {% block heading %}Choisir un nouveau mot de passe{% endblock %}"""
    own = DictLoader({"pages/fr/reset_password.html": french})
    app.jinja_loader = ChoiceLoader([own, app.jinja_loader])

    page = app.test_client().get("/reset-password", headers={"Accept-Language": "fr,de"})

    assert "<title>Choisir un nouveau mot de passe - Ostiary</title>" in page.text
    assert "This link does not work any more" in words(page, "fr")


def test_the_pages_have_the_name_of_the_service(make_app):
    client = make_app(SERVICE_NAME="Müller & Söhne <Shop>").test_client()

    for path in ("/reset-password", "/explorer"):
        page = client.get(path).text
        assert page.count("Müller &amp; Söhne &lt;Shop&gt;") == 2
        assert "Ostiary" not in page
    assert client.get("/api/openapi.json").json["info"]["title"] == "Müller & Söhne <Shop>"
