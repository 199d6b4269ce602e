"""Generated models in JSON: they load, or what is wrong with them is said; nothing else happens."""

import json
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.definitions.reading import json_models
from app.problems import ConfigurationError
from app.rest.collection import served_collections
from app.testing.apps import close
from tests.support.apps import build

from .conftest import running_a_command, tables_of
from .generated import configs, models, usable_sets

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
    @GENERATED
    @given(st.lists(models, min_size=1, max_size=3), configs)
    def check(declared, config):
        (tmp_path / "model-config.json").write_text(json.dumps(config))
        check_models(sqlite_url, tmp_path, declared)

    check()


@pytest.mark.both_databases
def test_generated_relations_never_fail(database_url, tmp_path):
    served = []

    @settings(GENERATED, max_examples=7, phases=[Phase.generate], report_multiple_bugs=False)
    @given(usable_sets)
    def check(declared):
        served.append(check_models(database_url, tmp_path, declared))

    check()
    assert sum(served) > len(served) / 2


def check_models(url, folder, declared):
    """Serve models, and call what they have, if they are not refused; tell whether they were."""
    models = folder / "models"
    models.mkdir(exist_ok=True)
    for path in models.iterdir():
        path.unlink()
    for number, each in enumerate(declared):
        (models / f"{number}.json").write_text(json.dumps(each))
    try:
        with running_a_command():
            app = build(url, folder / "mail", MODELS_FOLDER=str(models))
    except ConfigurationError as error:
        first, *problems = str(error).splitlines()
        assert problems or PLACE.match(first), first
        assert all(PLACE.match(each.strip()) for each in problems), problems
        return False
    with tables_of(app):
        call_models(app)
    close(app)
    return True


def call_models(app):
    """Create rows of all models, read them with what they lead to, and change it."""
    document = app.test_client().get("/api/openapi.json").json
    served = served_collections.of(app)

    def call(verb, path, body=None):
        response = app.test_client().open(f"/api{path}", method=verb, json=body)
        assert response.status_code < 500, (verb, path, body)
        return response.json

    def new(name):
        resource = served.get(name)
        schema = f"New{resource.model.__name__}" if resource else ""
        schemas = document["components"]["schemas"]
        return schemas.get(schema, {}).get("examples", [{}])[0]

    for each in json_models.of(app).definitions.values():
        path, relations = f"/{each.path}", served[each.plural].relations
        for body in ({}, new(each.plural), [new(each.plural)] * 2):
            call("POST", path, body)
        found = call("GET", path)
        has_id = isinstance(found, list) and found and each.id.name in found[0]
        row = f"{path}/{found[0][each.id.name]}" if has_id else path
        for verb in ("PATCH", "PUT"):
            call(verb, row, call("GET", row) if row != path else {})
        for name, relation in relations.items():
            call_relation(call, path, row, name, new(relation.target))
        call("DELETE", row)


def call_relation(call, path, row, name, body):
    """Create what a relation leads to, and read it."""
    call("POST", f"{row}/{name}", body)
    call("PUT", f"{row}/{name}/rel/1")
    for include in (name, {name: []}, {"relation": name, "scope": {"limit": 1}}):
        filter_ = json.dumps({"include": include, "fields": ["id"]})
        call("GET", f"{path}?filter={filter_}")
    # The second time by a statement that is kept.
    for _ in range(2):
        call("GET", f"{row}/{name}")
        call("GET", f"{path}?filter[include]={name}")
