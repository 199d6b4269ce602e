"""Mails and pages of a project: its templates take the place of ours by name."""

import pytest

from app.problems import ConfigurationError

from .resets import parse, request_reset, written

FRENCH = {"Accept-Language": "fr-CH, fr;q=0.9, de;q=0.8"}
HEADING = (
    '{% extends "ostiary/pages/en/reset_password.html" %}{% block heading %}A key{% endblock %}'
)


@pytest.fixture
def write(tmp_path):
    """Write templates to the folder of a project; return its path."""

    def write(**templates):
        for name, text in templates.items():
            path = tmp_path / "templates" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(tmp_path / "templates")

    return write


def test_a_project_adds_a_language_and_changes_parts_of_what_there_is(mailing, write):
    folder = write(
        **{
            "mail/fr/reset_password/subject.txt": "Un nouveau mot de passe",
            "mail/fr/reset_password/body.txt": "Bonjour !\n\n{{ link }}",
            "mail/base.html": '{% extends "ostiary/mail/base.html" %}',
            "pages/en/reset_password.html": HEADING,
            "pages/fr/reset_password.html": '{% extends "pages/en/reset_password.html" %}'
            "{% block language %}fr{% endblock %}",
        }
    )
    api = mailing(TEMPLATES_FOLDER=folder)

    request_reset(api, headers=FRENCH)
    [message] = [parse(path.read_bytes()) for path in written(api)]
    page = api.client.get("/reset-password?access_token=x", headers=FRENCH).text
    german = api.client.get("/reset-password", headers={"Accept-Language": "de"}).text

    assert message["Subject"] == "Un nouveau mot de passe"
    assert message["Content-Language"] == "fr"
    assert "<p" in message.get_body(["html"]).get_content()
    assert '<html lang="fr">' in page
    assert "A key" in page
    assert "A key" not in german


def test_templates_that_cannot_be_read_stop_the_start(mailing, write, tmp_path):
    folder = write(**{"mail/en/a/body.txt": "a\n{% if %}", "pages/b.html": "{{ x", "c.html": "{{"})

    with pytest.raises(ConfigurationError) as raised:
        mailing(TEMPLATES_FOLDER=folder)
    with pytest.raises(ConfigurationError, match=r"^TEMPLATES_FOLDER cannot be used: there is no"):
        mailing(TEMPLATES_FOLDER=str(tmp_path / "none"))

    assert [line.partition(": ")[0] for line in str(raised.value).splitlines()[1:]] == [
        "  templates/mail/en/a/body.txt:2",
        "  templates/pages/b.html:1",
    ]
