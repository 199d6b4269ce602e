"""Generated models in JSON: they load, or what is wrong with them is said; nothing else happens."""

import json
import re

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.config import ConfigurationError
from app.extensions import all_metadata, app_metadata, db
from tests.apps import build, close
from tests.definitions.conftest import running_a_command
from tests.definitions.generated import configs, models

# The same examples in every run.
GENERATED = settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
# The start of a problem: the file, and mostly the place in it.
PLACE = re.compile(r"(\d|model-config)\.json(: |\.| )")


def test_generated_models_load_or_are_refused_with_a_place(sqlite_url, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()

    @GENERATED
    @given(st.lists(models, min_size=1, max_size=3), configs)
    def check(declared, config):
        for number in range(3):
            path = folder / f"{number}.json"
            path.unlink(missing_ok=True)
            if number < len(declared):
                path.write_text(json.dumps(declared[number]))
        (tmp_path / "model-config.json").write_text(json.dumps(config))
        try:
            with running_a_command():
                app = build(sqlite_url, tmp_path / "mail", MODELS_FOLDER=str(folder))
        except ConfigurationError as error:
            first, *problems = str(error).splitlines()
            assert problems or PLACE.match(first), first
            assert all(PLACE.match(each.strip()) for each in problems), problems
        else:
            check_served(app)

    check()


def check_served(app):
    """Make the tables of an app, call each of its models, and drop them."""
    own = [all_metadata(app).tables[name] for name in app_metadata(app).tables]
    client = app.test_client()
    with app.app_context():
        metadata = own[0].metadata if own else db.metadata
        metadata.create_all(db.engine, own)
    try:
        assert client.get("/api/openapi.json").status_code == 200
        for each in app.extensions["json_models"].definitions.values():
            for verb, path in [("POST", ""), ("GET", ""), ("GET", "/1"), ("PATCH", "/1")]:
                response = client.open(f"/api/{each.path}{path}", method=verb, json={})
                assert response.status_code < 500, (verb, path)
    finally:
        with app.app_context():
            metadata.drop_all(db.engine, own)
        close(app)
