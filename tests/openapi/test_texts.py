"""The texts of the OpenAPI document are declared: docstrings are for readers of the code."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.installation import ROOT
from tests.support.second_factors import OPTIONAL

PRINT_DOCUMENT = """
import json, sys

import click

from app.factory import create_app

# As `flask db upgrade` does, which starts without the tables that it makes.
with click.Context(click.Command("upgrade"), info_name="flask"):
    client = create_app(json.loads(sys.argv[1])).test_client()
print(json.dumps(client.get("/api/openapi.json").json, indent=1, sort_keys=True))
"""
# Python leaves out docstrings.
WITHOUT_DOCSTRINGS = "-OO"


@pytest.mark.live
@pytest.mark.only_on("sqlite")
def test_the_document_is_the_same_without_docstrings(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    photo = {"type": "file", "store": "photos"}
    note = {"name": "Note", "properties": {"text": "string", "photo": photo}}
    (models / "note.json").write_text(json.dumps(note))
    settings = {
        "EMAIL_LOGIN": True,
        "FILE_URL_KEYS": ["a key of the signed addresses of the tests"],
        "IDEMPOTENCY_TTL": 60,
        "LOGIN_CODE_KEYS": ["a key of the mailed codes of the tests"],
        "MODELS_FOLDER": str(models),
        "PASSKEYS": {},
        "PERSONAL_TOKENS": {},
        "PROVIDERS": {"github": {"clientID": "ostiary", "clientSecret": "secret", "json": True}},
        "PUBLIC_URL": "http://localhost:3000",
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/ostiary.sqlite3",
        "STORES": {"photos": {"provider": "filesystem", "root": str(tmp_path / "photos")}},
        **OPTIONAL,
    }

    def document(*options):
        """Return the lines of the document that a process of Python prints."""
        command = [sys.executable, *options, "-c", PRINT_DOCUMENT, json.dumps(settings)]
        environment = os.environ | {"INSTANCE_PATH": str(tmp_path)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    complete = document()

    assert document(WITHOUT_DOCSTRINGS) == complete
    assert [line for line in complete if '"summary": ""' in line] == []
    assert any("Send the file of a Note" in line for line in complete)
