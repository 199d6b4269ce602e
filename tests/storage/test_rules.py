"""Who may do what with files, in the rules, the document and the settings."""

import pytest

from app.problems import ConfigurationError
from tests.support.answers import refusal

from .conftest import send

METHODS = {
    "getContainers": "GET /containers",
    "createContainer": "POST /containers",
    "getContainer": "GET /containers/{container}",
    "destroyContainer": "DELETE /containers/{container}",
    "getFiles": "GET /containers/{container}/files",
    "getFile": "GET /containers/{container}/files/{file}",
    "removeFile": "DELETE /containers/{container}/files/{file}",
    "upload": "POST /containers/{container}/upload",
    "download": "GET /containers/{container}/download/{file}",
}


def test_rules_name_the_methods_as_in_loopback(local):
    send(local, ("a.txt", b"a", ""))
    for route in METHODS.values():
        verb, path = route.format(container="photos", file="a.txt").split(" ")
        expected = 200 if "download" in path else 401
        assert local.anonymous(verb, path).status_code == expected, route
        closed = path.replace("/containers", "/closeds", 1)
        assert local.anonymous(verb, closed, token=local.token).status_code == 403, route


def test_the_document_has_the_methods(local):
    document = local.anonymous("GET", "/openapi.json").json
    for method, route in METHODS.items():
        verb, path = route.split(" ")
        operation = document["paths"][path][verb.lower()]
        assert operation["operationId"] == f"containers.{method}"
    upload = document["paths"]["/containers/{container}/upload"]["post"]
    assert list(upload["requestBody"]["content"]) == ["multipart/form-data"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"maxFileSize": "x"}, "the store storage cannot be used: maxFileSize: "),
        ({"maxFileSize": 0}, "maxFileSize: "),
        ({"key": {"$env": "NO_SUCH_KEY"}}, "environment variable NO_SUCH_KEY is not set"),
        ({"root": "/proc/files"}, "root cannot be used: /proc/files"),
        ({"allowedContentTypes": "image/png"}, "allowedContentTypes: "),
    ],
)
def test_a_store_that_cannot_be_used_is_one_sentence(serve_files, settings, expected):
    with pytest.raises(ConfigurationError) as raised:
        serve_files(**settings)

    assert expected in str(raised.value)


def test_another_provider_is_a_warning(serve_files, caplog):
    files = serve_files(provider="azure")

    assert "data source storage: not used" in caplog.text
    assert files.call("GET", "").status_code == 404


def test_the_model_is_in_the_list_of_models(local):
    listed = local.app.test_cli_runner().invoke(args=["models", "list"])
    shown = local.app.test_cli_runner().invoke(args=["models", "show", "container"])
    checked = local.app.test_cli_runner().invoke(args=["models", "check"])

    assert "container" in listed.output
    assert "POST /api/containers/<container>/upload" in shown.output
    assert "closed can be reached by nobody" in checked.output
    assert "container can be" not in checked.output


def test_a_path_that_nothing_is_served_at_stays_so(local):
    assert refusal(local.call("GET", "/photos/nothing/else")) == (404, "NOT_FOUND")
