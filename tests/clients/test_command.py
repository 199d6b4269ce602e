"""`ostiary client` in a project, outside of one, and with a running service."""

import json
import re
import subprocess
import sys
from threading import Event

import pytest
from click.testing import CliRunner
from flask import Flask, Response, redirect

from app.clients import cli
from app.clients.writing import Client
from ostiary.__main__ import main
from tests.support.documents import blocks
from tests.support.live import serve_app

from .applications import FOOD_BANK, document, documents, write_models

# The most lines of types for a property of a model, without comments and those of every client.
LINES_A_PROPERTY = 6
# An operation of no collection, and a parameter with a value that JSON does not have.
OPERATION = {"get": {"tags": ["a"], "operationId": "a.b", "responses": {}}}
NO_NUMBER = {"name": "a", "in": "query", "schema": {"enum": [float("inf")]}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which is no project."""
    monkeypatch.chdir(tmp_path)
    # Restored after the test: `ostiary` sets it.
    monkeypatch.setenv("INSTANCE_PATH", "")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["client", *map(str, arguments)])


def test_a_client_is_the_same_whatever_address_it_is_read_from(app, folder):
    with serve_app(app) as url:
        addresses = (f"{url}/api", f"{url}/api/", f"{url}/api/openapi.json")
        texts = {run("typescript", "--url", address).stdout for address in addresses}
    expected = Client.of(app.test_client().get("/api/openapi.json").json).typescript()

    assert texts == {expected}
    assert expected.endswith("return makeClient(options, COLLECTIONS) as Client;\n}\n")


@pytest.mark.live
def test_a_project_writes_and_checks_its_client(folder, sqlite_template):
    (folder / "config.py").write_text("SERVICE_NAME = 'Food bank'\nSAMPLE_TODOS = False\n")
    write_models(folder, FOOD_BANK)
    ostiary = f"{sys.prefix}/bin/ostiary"

    def call(*arguments):
        command = [ostiary, "client", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    [said] = blocks("docs/client.md", "sh")
    commands = [line.split()[2:] for line in said.splitlines()]
    written, up_to_date = (call(*command) for command in commands)
    printed = call("typescript")
    site = folder / "models" / "Site.json"
    site.write_text(site.read_text().replace("doorCode", "keyCode"))
    stale = call(*commands[1])
    plain = call("javascript", "--output", "client.js")

    assert (written.returncode, up_to_date.stdout) == (0, "src/client.ts is up to date.\n")
    assert written.stdout.startswith("Wrote src/client.ts: ")
    assert printed.stdout == (folder / "src" / "client.ts").read_text()
    assert printed.stdout.startswith("// The API of Food bank. Written by `ostiary client")
    assert stale.returncode == 1
    assert "client.ts is not up to date" in stale.stderr
    assert plain.returncode == 0, plain.stderr
    assert "keyCode" in (folder / "client.d.ts").read_text()


def test_what_cannot_be_done_is_said_in_one_sentence(folder, app):
    (folder / "folder").mkdir()
    with serve_app(app) as url:
        results = {
            "no project": run("typescript"),
            "nothing to compare": run("typescript", "--check"),
            "nothing there": run("typescript", "--url", "http://127.0.0.1:9/api"),
            "not found": run("typescript", "--url", f"{url}/nowhere"),
            "no scheme": run("typescript", "--url", url.removeprefix("http://")),
            "no document": run("typescript", "--url", f"{url}/api/openapi.json?x=/openapi.json"),
            "a folder": run("typescript", "--url", f"{url}/api", "--output", "folder"),
            "no file": run("typescript", "--url", f"{url}/api", "--output", "x.ts", "--check"),
            "a name": run("javascript", "--url", f"{url}/api", "--output", "x.ts"),
        }

    statuses = {name: result.exit_code for name, result in results.items()}
    assert statuses == {
        **dict.fromkeys(results, 1),
        "no document": 0,
        "nothing to compare": 2,
        "a name": 2,
    }
    assert "there is no project here" in results["no project"].output
    assert "the status is 404; --url needs the base path" in results["not found"].output
    assert "it is no address that begins with https://" in results["no scheme"].output
    assert "folder cannot be written: Is a directory." in results["a folder"].output
    assert "x.ts is not up to date" in results["no file"].output
    assert not any("Traceback" in result.output for result in results.values())


@pytest.mark.parametrize(
    "paths",
    [
        {"/a": {"get": {}}},
        {"/a": {"get": {"tags": ["a"], "operationId": "a.b", "responses": []}}},
        {
            "/a": {
                "post": {
                    "tags": ["a"],
                    "operationId": "a.b",
                    "requestBody": {"$ref": "#/paths/~1a/post/requestBody"},
                    "responses": {},
                }
            }
        },
        {
            "/a": {
                "post": {
                    "tags": ["a"],
                    "operationId": "a.b",
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/x/none"}}}
                    },
                    "responses": {},
                }
            }
        },
    ],
    ids=["no tags", "a list", "a circle", "nothing there"],
)
def test_the_document_of_another_service_is_refused(folder, http, paths):
    url = http({"openapi": "3.1.0", "info": {"title": "a"}, "paths": paths})

    result = run("typescript", "--url", url)

    assert result.exit_code == 1
    assert f"{url} has a document that Ostiary has not written: " in result.output


@pytest.fixture
def http():
    """Return a function that serves a document or another answer, and returns its address."""
    app, documents = Flask(__name__), []

    @app.get("/openapi.json")
    def answer():
        return documents[-1]

    with serve_app(app) as url:
        yield lambda document: documents.append(document) or url


def slowly():
    """Send a byte now and then."""
    for _ in range(100):
        yield b" "
        Event().wait(0.05)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda: "<html>", "has no OpenAPI document"),
        (lambda: b"[" * 200_000, "has no OpenAPI document"),
        (lambda: (b"", 503), "cannot be read: the status is 503"),
        (lambda: redirect("/openapi.json"), "cannot be read: it redirects again and again"),
        (lambda: redirect("file:///etc/passwd"), "cannot be read: it is no address that begins"),
        (lambda: ("x" * 50, {"Content-Encoding": "gzip"}), "it is not encoded as its headers say"),
        (lambda: Response(slowly()), "cannot be read: there is no answer within"),
        (lambda: b" " * 2_000, "has a document of more than 1000 bytes"),
    ],
    ids=["a page", "deep", "status", "circle", "file", "encoding", "slow", "long"],
)
def test_a_service_that_answers_oddly_is_refused(folder, http, monkeypatch, answer, reason):
    monkeypatch.setattr(cli, "TIMEOUT", 0.5)
    if reason.endswith("1000 bytes"):
        monkeypatch.setattr(cli, "MAX_BYTES", 1000)
    with Flask(__name__).test_request_context():
        url = http(answer())

    result = run("typescript", "--url", url.replace("//", "//ada:secret@"))

    assert result.exit_code == 1
    assert f"{url} " in result.output
    assert reason in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("url", ["http://[", "file:///etc/passwd", "x", "//"])
def test_what_is_no_address_is_refused(folder, url):
    result = run("typescript", "--url", url)

    assert result.exit_code == 1
    assert "cannot be read: it is no address that begins with https:// or" in result.output


@pytest.mark.parametrize(
    "change",
    [
        {"x-login-paths": {"a": "javascript:alert(1)"}},
        {"x-login-paths": {"a": "//elsewhere.example/login"}},
        {"x-login-paths": {"a": "\t//elsewhere.example"}},
        {"tags": [{"name": "a", "x-model": "a", "x-path": "//elsewhere.example"}]},
        {"paths": {"//elsewhere.example": OPERATION}},
        {"paths": {"/a b": OPERATION}},
        {"paths": {"/a/../..": OPERATION}},
        {"paths": {"/a?b": OPERATION}},
        {"paths": {"/a": {"get": {**OPERATION["get"], "parameters": [NO_NUMBER]}}}},
    ],
)
def test_a_document_that_leads_elsewhere_is_refused(folder, http, change):
    url = http({"openapi": "3.1.0", "info": {"title": "a"}, "paths": {"/a": OPERATION}, **change})

    result = run("typescript", "--url", url)

    assert result.exit_code == 1
    assert "has a document that Ostiary has not written: ValueError: " in result.output


def test_half_characters_and_line_ends_are_escaped_or_ignored(folder, http):
    url = http({"openapi": "3.1.0", "info": {"title": "a \ud800 b"}, "paths": {}})

    made = run("typescript", "--url", url, "--output", "x.ts")
    (folder / "x.ts").write_bytes((folder / "x.ts").read_bytes().replace(b"\n", b"\r\n"))
    checked = run("typescript", "--url", url, "--output", "x.ts", "--check")

    assert made.exit_code == 0, made.output
    assert (folder / "x.ts").read_text().startswith("// The API of a \\ud800 b. ")
    assert checked.exit_code == 0, checked.output


def test_a_client_is_short(tmp_path):
    made = documents(tmp_path)
    # The others have few properties, or switch on all calls of users.
    for described in (made["shop"], made["library"]):
        lines = [text.strip() for part in Client.of(described).types for text in part]
        code = [text for text in lines if not text.startswith(("/**", "*"))]
        models = [text.split("Rows<")[1].split(",")[0] for text in lines if "extends Rows<" in text]
        schemas = {
            name.lower(): schema for name, schema in described["components"]["schemas"].items()
        }
        properties = sum(len(schemas[model.lower()]["properties"]) for model in models)
        assert len(code) <= LINES_A_PROPERTY * properties


def test_files_and_calls_of_later_documents_fit(tmp_path):
    described = documents(tmp_path)["shop"]
    paths, schemas = described["paths"], described["components"]["schemas"]
    for name in ("product", "productWithRelations"):
        schemas[name]["properties"]["sold"] = {"type": "integer", "readOnly": True}
    schemas["product"]["required"].append("sold")
    form = {"type": "object", "properties": {"photo": {"type": "string", "format": "binary"}}}
    content = paths["/products"]["post"]["requestBody"]["content"]
    content["multipart/form-data"] = {"schema": form}
    binary = {"schema": {"type": "string", "format": "binary"}}
    paths["/products/{id}/photo"] = {
        "put": {
            **paths["/products/{id}"]["put"],
            "operationId": "products.__update__photo",
            "requestBody": {"required": True, "content": {"application/octet-stream": binary}},
        },
    }

    text = Client.of(described).typescript()

    assert "  sold: number;" in text
    assert "Rows<Product, ProductCreate & { photo?: Blob }, ProductUpdate, ProductCreate>" in text
    assert "update(body: Binary, options?: CallOptions): Promise<Product>;" in text
    assert "export interface ProductsCalls extends Collection<ProductModel> {" in text
    assert '"sold"' not in text


def test_rows_that_are_only_counted_have_no_other_aggregates(tmp_path):
    described = documents(tmp_path)["shop"]
    parts = described["components"]["schemas"]["reviewAggregate"]["properties"]
    parts["aggregate"]["additionalProperties"]["properties"] = {"count": {"enum": ["*"]}}
    parts["groupBy"] = {"anyOf": [{"not": {}}]}

    text = Client.of(described).typescript()

    [model] = re.findall(r"export interface ReviewModel .*?^}", text, re.DOTALL | re.MULTILINE)
    assert "  counted: true;" in model
    assert 'text: "text"' in model
    assert text.count("  counted: true;") == 1


def test_no_name_of_a_model_or_property_is_code(tmp_path):
    names = ["Promise", "Record", "Order-Item", "ab_1", "Client", "Calls", "Collection", "Where"]
    hostile = {"type": "string", "enum": ['"; alert(1); "', "*/ alert(2) /*", "${x}", "a\nb"]}
    models = [
        {"name": name, "plural": f"{name}s", "properties": {"state": hostile}} for name in names
    ]
    models[0]["properties"]["about"] = {"type": "string", "description": "*/ alert(3); /*\nx"}
    described = document(tmp_path / "app", lambda folder: write_models(folder, models))
    described["info"]["title"] = "A\nalert(4) */"

    text = Client.of(described).typescript()

    assert "\nalert(4)" not in text
    assert "*/ alert(3)" not in text
    assert json.dumps("*/ alert(2) /*") in text
    assert "export interface PromiseRow {" in text
    assert "export interface OrderItem {" in text


def test_calls_are_described_with_the_article_of_their_model(tmp_path):
    paths = documents(tmp_path)["shop"]["paths"]

    summaries = [paths[f"/{name}/{{id}}"]["delete"]["summary"] for name in ("orders", "users")]
    assert summaries == ["Delete an order", "Delete a user"]
