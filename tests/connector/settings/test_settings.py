"""Wrong settings get one error with every problem by its place."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from app.connector import ConfigError, DataSource, Template
from app.connector.settings.options import OPTIONS, default_values
from app.connector.settings.schema import DataSourceSettings, OptionsSettings, TemplateSettings

URL = "http://h.example/x"
ABSOLUTE = {"template": {"url": URL}}


def errors_of(settings):
    with pytest.raises(ConfigError) as caught:
        DataSource.from_config(settings, name="remote")
    return caught.value.errors


def errors_of_operation(**operation):
    return errors_of({"operations": [operation]})


def errors_of_template(**template):
    return errors_of_operation(template={"url": URL, **template})


def assert_names(errors, place, words):
    """Check that there is one problem, at its place, whose text has the words that matter."""
    assert list(errors) == [place]
    [problem] = errors[place]
    assert [word for word in words.split() if word not in problem] == [], problem


WRONG_OPERATIONS = [
    ("nope", "operations", "list string"),
    ({"a": 1}, "operations", "list object"),
    ([{}], "operations[0]", "template missing"),
    ([{"template": None}], "operations[0]", "template missing"),
    (["x"], "operations[0]", "object string"),
    ([None], "operations[0]", "object null"),
    ([{"template": "x"}], "operations[0].template", "object string"),
    ([{"template": {"url": URL}, "functions": []}], "operations[0].functions", "object list"),
    (
        [{"template": {"url": URL}, "functions": {"f": "a"}}],
        "operations[0].functions.f",
        "list string",
    ),
    (
        [{"template": {"url": URL}, "functions": {"f": [None]}}],
        "operations[0].functions.f[0]",
        "name null",
    ),
    (
        [{"template": {"url": URL}, "functions": {"f": [5]}}],
        "operations[0].functions.f[0]",
        "name number",
    ),
]


@pytest.mark.parametrize(("operations", "place", "words"), WRONG_OPERATIONS)
def test_wrong_operations_are_named(operations, place, words):
    assert_names(errors_of({"operations": operations}), place, words)


WRONG_TEMPLATES = [
    ({"url": "/x"}, "url", "relative baseURL"),
    ({"url": ""}, "url", "relative baseURL"),
    ({"url": "ftp://h/x"}, "url", "http:// https://"),
    ({"url": "http://{u}:p@h/x"}, "url", "credentials options.auth"),
    ({"url": "http://:p@h/x"}, "url", "credentials options.auth"),
    ({"url": "http://"}, "url", "no host"),
    ({"url": "http://?x"}, "url", "no host"),
    ({"url": "http://h/../x"}, "url", ".. segment"),
    ({"method": "FOO BAR"}, "method", "'FOO BAR' method"),
    ({"query": "a={b}"}, "query", "object variable"),
    ({"query": "a=b"}, "query", "object variable"),
    ({"variables": {"x": 5}}, "variables.x", "object number"),
    ({"paginate": {"type": "page", "items": "$["}}, "paginate.items", "error"),
    ({"method": 5}, "method", "string number"),
    ({"headers": []}, "headers", "object list"),
    ({"fullResponse": "yes"}, "fullResponse", "true false"),
    ({"omitMissing": 1}, "omitMissing", "true false"),
    ({"options": {"strictSSL": "false"}}, "options.strictSSL", "true false"),
    ({"options": {"timeout": "soon"}}, "options.timeout", "whole 1 string"),
    ({"options": {"baseURL": "h"}}, "options.baseURL", "http:// host"),
    ({"options": {"timeout": True}}, "options.timeout", "whole 1 boolean"),
    ({"options": {"timeout": 0}}, "options.timeout", "whole 1 0"),
    ({"options": {"retry": {"methods": [1]}}}, "options.retry.methods[0]", "string number"),
    ({"options": {"retry": {"statuses": 500}}}, "options.retry.statuses", "list number"),
    (
        {"options": {"auth": {"oauth2": {"tokenUrl": "x", "clientId": "y"}}}},
        "options.auth.oauth2.clientSecret",
        "Missing",
    ),
    ({"responseSelect": "frist"}, "responseSelect", "auto all 'first'"),
    ({"onNoMatch": 5}, "onNoMatch", "empty null error"),
    ({"responsePath": 5}, "responsePath", "string number"),
    ({"variables": []}, "variables", "object list"),
    ({"paginate": {"type": "next"}}, "paginate.path", "'next'"),
    ({"paginate": {}}, "paginate.type", "Missing"),
]


@pytest.mark.parametrize(("template", "place", "words"), WRONG_TEMPLATES)
def test_wrong_template_is_named(template, place, words):
    assert_names(errors_of_template(**template), f"operations[0].template.{place}", words)


@pytest.mark.parametrize("path", ["$.a[", "$.$type", "$.ünï"])
def test_malformed_response_path_is_named_with_what_the_parser_says(path):
    errors = errors_of_template(responsePath=path)

    assert list(errors) == ["operations[0].template.responsePath"]
    assert errors["operations[0].template.responsePath"][0]


def test_malformed_response_path_names_the_column():
    errors = errors_of_template(responsePath="$.a.?")

    assert "col" in str(errors) or "1:" in str(errors)


WRONG_FUNCTIONS = [
    ({"m1": ["nope"]}, ".m1[0]", "'nope' variable a p x"),
    ({"m1": ["xx"]}, ".m1[0]", "'xx' variable a p 'x'"),
    ({"m1": [{"source": "path"}]}, ".m1[0]", "name object"),
    ({"": []}, ".", "name empty"),
]


@pytest.mark.parametrize(("functions", "place", "words"), WRONG_FUNCTIONS)
def test_wrong_function_is_named(functions, place, words):
    errors = errors_of_operation(
        template={"url": f"{URL}/{{p}}", "query": {"x": "{x}"}, "headers": {"a": "{a}"}},
        functions=functions,
    )

    assert_names(errors, f"operations[0].functions{place}", words)


@pytest.mark.parametrize("connector", ["soap", 5])
def test_connector_of_another_kind_is_refused(connector):
    assert "connector" in errors_of({"connector": connector})


def test_header_of_the_settings_that_cannot_be_sent_is_a_configuration_error(monkeypatch):
    monkeypatch.setenv("KEY", "k3y-from-a-file\n")
    settings = {"operations": [{"template": {"url": URL}}]}

    for options in ({"headers": {"x": "a\nb"}}, {"auth": {"bearer": {"$env": "KEY"}}}):
        errors = errors_of({**settings, "options": options})

        assert "line breaks" in str(errors)
        assert "k3y" not in str(errors)


def test_place_of_a_parameter_counts_the_wrong_ones_too():
    errors = errors_of_operation(template={"url": URL}, functions={"f": [None, "nope"]})

    assert set(errors) == {"operations[0].functions.f[0]", "operations[0].functions.f[1]"}


def test_parameter_source_without_room_is_refused():
    errors = errors_of_operation(
        template={"url": URL, "body": "{b}"}, functions={"f": [{"name": "n", "source": "body"}]}
    )

    assert_names(errors, "operations[0].functions.f[0]", "'n' variable b")


VARIABLES = [
    ({"body": {"a": ["{x=q:number}"]}}, "body.a[0]", "default"),
    (
        {"query": {"a": "{x=c}"}, "variables": {"x": {"enum": ["a"]}}},
        "query.a",
        "default",
    ),
    (
        {"query": {"a": "{x}"}, "variables": {"x": {"type": "number", "default": "q"}}},
        "variables.x",
        "default",
    ),
]


@pytest.mark.parametrize(("template", "place", "words"), VARIABLES)
def test_wrong_variable_is_named_with_its_place(template, place, words):
    assert_names(errors_of_template(**template), f"operations[0].template.{place}", words)


def test_every_problem_is_listed_at_once():
    errors = errors_of(
        {
            "baseURL": "ftp://h",
            "debug": "maybe",
            "options": {"strictSSL": "no"},
            "operations": [
                {"template": {"url": "/a", "method": 5}},
                {},
                {"template": {"url": "http://h/{x=a:number}"}, "functions": {"f": ["y"]}},
            ],
        }
    )

    assert set(errors) == {
        "baseURL",
        "debug",
        "options.strictSSL",
        "operations[0].template.method",
        "operations[1]",
        "operations[2].template.url",
        "operations[2].functions.f[0]",
    }


def test_unknown_key_hides_no_other_problem():
    errors = errors_of_operation(
        template={
            "url": f"{URL}/../{{id=a:number}}",
            "responsePath": "$[",
            "paginate": {"type": "next"},
            "variables": {"id": {"requird": True}},
            "qurey": {},
        },
        functions={"find": ["id", "nmae"], "": []},
        unknown=1,
    )

    assert set(errors) == {
        "operations[0].template.url",
        "operations[0].template.responsePath",
        "operations[0].template.paginate.path",
        "operations[0].functions.find[1]",
        "operations[0].functions.",
    }
    assert len(errors["operations[0].template.url"]) == 2


def test_error_in_a_part_of_a_template_is_not_reported_as_another():
    for wrong in (
        {"url": ["/{a}"]},
        {"headers": ["{a}"]},
        {"options": {"proxy": ["{a}"]}},
    ):
        operation = {"template": {"url": "http://h/x", **wrong}, "functions": {"f": ["a"]}}
        assert len(errors_of({"operations": [operation]})) == 1


def test_message_names_data_source_place_and_problem():
    with pytest.raises(ConfigError, match=r"'geo'.*operations\[0\].*template"):
        DataSource.from_config({"operations": [{}]}, name="geo")


@pytest.mark.parametrize("settings", [None, [], "x", 5])
def test_settings_that_are_no_object_are_refused(settings):
    assert "object" in str(errors_of(settings))


@pytest.mark.parametrize(
    "base", ["h.example", "ftp://h", "http://", "http://:p@h", "http://h?x=1", "http://h#x"]
)
def test_base_url_that_is_none_is_refused(base):
    assert "baseURL" in errors_of({"baseURL": base})
    assert "options.baseURL" in errors_of({"options": {"baseUrl": base}})
    assert "baseURL" in errors_of({"baseURL": base, "crud": True, "operations": [ABSOLUTE]})


def test_rest_path_is_another_name_for_the_base_url():
    source = DataSource.from_config(
        {"restPath": URL, "operations": [{"template": {"url": "y"}, "functions": {"f": []}}]}
    )

    assert source.f.prepare().full_url == f"{URL}/y"


def test_warnings_are_kept_and_logged_once(caplog):
    source = DataSource.from_config({"retrys": {}}, name="remote")

    [record] = caplog.records
    assert record.levelname == "WARNING"
    [warning] = source.warnings
    assert warning.path == "retrys"
    assert record.getMessage() == f"data source remote: {warning}"
    assert str(warning) == "retrys: unknown key 'retrys' is ignored; did you mean 'retry'?"


TEMPLATE = "operations[0].template"
FUNCTION = "operations[0].functions.f"
# Settings with one template, the path of the warning, and the words of its meaning.
ADAPTED = [
    ({"baseURL": ""}, "baseURL", "empty missing"),
    ({"baseURL": " http://h "}, "baseURL", "blanks"),
    ({"baseURL": "h.example/v1"}, "baseURL", "http:// host"),
    ({"baseUrl": "http://h"}, "baseUrl", "`baseURL`"),
    ({"restPath": "http://h"}, "restPath", "`baseURL`"),
    ({"options": {"baseUrl": "http://h"}}, "options.baseUrl", "`baseURL`"),
    ({"options": "none"}, "options", "ignored object string"),
    ({"defaults": ""}, "defaults", "empty missing"),
    ({"options": {"strictSSl": False}}, "options.strictSSl", "unknown 'strictSSL'"),
    ({"options": {"auth": {"username": "u"}}}, "options.auth.username", "`user`"),
    ({"options": {"auth": {"password": "p"}}}, "options.auth.password", "`pass`"),
    ({"options": {"auth": {"bearr": "x"}}}, "options.auth.bearr", "unknown 'bearer'"),
    ({"options": {"timeout": {"raed": 1}}}, "options.timeout.raed", "unknown 'read'"),
    ({"options": {"agentOptions": {}}}, "options.agentOptions", "ignored `cert`"),
    ({"rejectUnauthorized": False}, "rejectUnauthorized", "ignored `strictSSL`"),
    ({"options": {"jar": True}}, "options.jar", "ignored cookies"),
    ({"options": {"time": True}}, "options.time", "ignored"),
    ({"template": {"qurey": {}}}, f"{TEMPLATE}.qurey", "unknown 'query'"),
    ({"template": {"doc": "What {x} is."}}, f"{TEMPLATE}.doc", "ignored `doc`"),
    ({"template": {"attachments": []}}, f"{TEMPLATE}.attachments", "ignored `files`"),
    ({"template": {"functions": {"g": []}}}, f"{TEMPLATE}.functions", "ignored `template`"),
    ({"template": {"options": "none"}}, f"{TEMPLATE}.options", "ignored object string"),
    ({"template": {"responsePath": ""}}, f"{TEMPLATE}.responsePath", "empty missing"),
    ({"template": {"headers": None}}, f"{TEMPLATE}.headers", "empty missing"),
    ({"template": {"method": "get "}}, f"{TEMPLATE}.method", "blanks"),
    ({"template": {"url": f" {URL} "}}, f"{TEMPLATE}.url", "blanks"),
    ({"template": {"json": {"a": 1}, "method": "POST"}}, f"{TEMPLATE}.json", "`body`"),
    ({"template": {"query": {"a": "{x:int}"}}}, f"{TEMPLATE}.query.a", "'int' 'integer'"),
    ({"template": {"query": {"a": "{x:text}"}}}, f"{TEMPLATE}.query.a", "'text' 'string'"),
    ({"template": {"query": {"a": "{x:nubmer}"}}}, f"{TEMPLATE}.query.a", "'nubmer' 'number'"),
    ({"template": {"query": {"a": "{x:banana}"}}}, f"{TEMPLATE}.query.a", "'banana' 'any'"),
    (
        {"template": {"query": {"a": "{x}"}, "variables": {"x": {"type": "long"}}}},
        f"{TEMPLATE}.variables.x.type",
        "'long' 'integer'",
    ),
    ({"function": {}}, "function", "unknown"),
    ({"operation": {"function": {}}}, "operations[0].function", "unknown 'functions'"),
    ({"functions": {"close": []}}, "operations[0].functions.close", "operations['close']"),
    ({"functions": {"_x": []}}, "operations[0].functions._x", "operations['_x']"),
    ({"functions": {"f": [{"name": "x", "sauce": 1}]}}, f"{FUNCTION}[0]", "unknown 'source'"),
    ({"functions": {"f": [{"name": "x", "source": "no"}]}}, f"{FUNCTION}[0]", "source path query"),
    ({"functions": {"f": ["x", "x"]}}, f"{FUNCTION}[1]", "twice last"),
]


@pytest.mark.parametrize(("given", "path", "words"), ADAPTED)
def test_what_loopback_accepts_is_used_with_a_warning(given, path, words):
    settings = dict(given)
    template = {"url": URL, "query": {"x": "{x}"}, **settings.pop("template", {})}
    operation = {"template": template, **settings.pop("operation", {})}
    operation["functions"] = settings.pop("functions", {"f": ["x"]})

    source = DataSource.from_config({**settings, "operations": [operation]})

    [warning] = source.warnings
    assert warning.path == path
    assert [word for word in words.split() if word not in warning.meaning] == [], warning
    assert source.operations.keys() == operation["functions"].keys()


@pytest.mark.parametrize("nothing", [None, ""])
def test_functions_that_are_empty_are_missing(nothing):
    source = DataSource.from_config({"operations": [{**ABSOLUTE, "functions": nothing}]})

    [warning] = source.warnings
    assert (warning.path, source.operations) == ("operations[0].functions", {})


def test_second_function_of_a_name_replaces_the_first():
    operations = [
        {"template": {"url": f"{URL}/{number}"}, "functions": {"f": []}} for number in (1, 2)
    ]
    source = DataSource.from_config({"operations": operations})

    assert source.f.prepare().url == f"{URL}/2"
    assert str(source.warnings[0]) == (
        "operations[1].functions.f: replaces the function operations[0].functions.f"
    )


def test_function_with_the_name_of_an_attribute_is_among_the_operations():
    functions = {"close": [], "_client": []}
    source = DataSource.from_config(
        {"operations": [{"template": {"url": URL}, "functions": functions}]}
    )

    assert source.operations["close"].prepare().url == URL
    assert source.operations["_client"].prepare().url == URL
    assert source.close() is None


def test_warning_shows_nothing_of_the_environment(monkeypatch):
    monkeypatch.setenv("KEY", "k3y-in-a-type")
    template = {"url": URL, "query": {"a": "{x}"}, "variables": {"x": {"type": {"$env": "KEY"}}}}
    source = DataSource.from_config({"operations": [{"template": template}]})

    assert "'***'" in str(source.warnings[0])


def test_public_and_acls_are_read_and_not_warned_about(caplog):
    source = DataSource.from_config({"public": True, "acls": [{"permission": "ALLOW"}]})

    assert source.public is True
    assert source.acls == [{"permission": "ALLOW"}]
    assert caplog.text == ""
    assert DataSource.from_config({}).public is False


@pytest.mark.parametrize(("value", "debug"), [("false", False), ("true", True), (True, True)])
def test_debug_may_be_a_text(value, debug):
    assert DataSource.from_config({"debug": value})._client.debug is debug


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"template": {"url": URL, "body": {}}}, "GET body"),
        ({"template": {"url": URL + "/{p}"}}, "url p optional"),
        (
            {"template": {"url": URL, "query": {"a": "{!r}"}}, "functions": {"f": []}},
            "required r parameter",
        ),
        (
            {"template": {"url": URL, "options": {"strictSSL": False}}},
            "certificates",
        ),
        ({"template": {"url": URL, "timeout": 30}}, "timeout milliseconds"),
    ],
)
def test_what_works_and_is_probably_not_meant_is_a_warning(caplog, operation, words):
    with caplog.at_level(logging.WARNING, "app.connector"):
        DataSource.from_config({"operations": [operation]})

    assert any(
        all(word in record.getMessage() for word in words.split()) for record in caplog.records
    )


def test_environment_stands_wherever_a_value_stands(monkeypatch):
    monkeypatch.setenv("HOST_URL", "http://h.example/v1")
    monkeypatch.setenv("LIMIT", "2500")
    monkeypatch.setenv("STRICT", "true")
    monkeypatch.setenv("BRACES", "{x}")
    source = DataSource.from_config(
        {
            "baseURL": {"$env": "HOST_URL"},
            "options": {"timeout": {"$env": "LIMIT"}, "strictSSL": {"$env": "STRICT"}},
            "operations": [
                {
                    "template": {"url": "/a", "query": {"k": {"$env": "BRACES"}}},
                    "functions": {"f": []},
                }
            ],
        }
    )

    request = source.f.prepare()

    assert request.full_url == "http://h.example/v1/a?k=%7Bx%7D"
    assert source.f.variables == {}


def test_environment_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("NOPE", raising=False)

    errors = errors_of({"options": {"auth": {"bearer": {"$env": "NOPE"}}}})

    assert_names(errors, "options.auth.bearer", "NOPE set")


def test_environment_variable_may_name_a_file_that_has_the_value(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("k3y\n")
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "key"))
    settings = {
        "options": {"headers": {"x-key": {"$env": "KEY"}}},
        "operations": [{"template": {"url": URL}, "functions": {"f": []}}],
    }

    request = DataSource.from_config(settings).f.prepare()
    monkeypatch.setenv("KEY", "k3y")
    errors = errors_of(settings)

    assert request.headers["x-key"] == "k3y"
    assert_names(errors, "options.headers.x-key", "KEY KEY_FILE both set")


def test_environment_flag_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("STRICT", "maybe")

    errors = errors_of({"options": {"strictSSL": {"$env": "STRICT"}}})

    assert_names(errors, "options.strictSSL", "true false")


@pytest.mark.parametrize("value", [{"$env": "A", "b": 1}, {"$env": 5}])
def test_malformed_environment_reference_is_refused(value):
    assert "$env" in str(errors_of({"options": {"headers": {"a": value}}}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_load_reads_one_data_source_of_a_file(tmp_path, encoding):
    path = tmp_path / "datasources.json"
    path.write_text(
        json.dumps(
            {"geo": {"operations": [{"template": {"url": URL}, "functions": {"find": []}}]}}
        ),
        encoding,
    )

    source = DataSource.load(path, "geo")

    assert (source.name, list(source.operations)) == ("geo", ["find"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"goe": {}}', "'geo'.*'goe'"),
        ("[]", "'geo'"),
        ("{", "datasources.json.*property name"),
        (None, "datasources.json.*read"),
    ],
)
def test_file_that_cannot_be_used_is_a_configuration_error(tmp_path, content, words):
    path = tmp_path / "datasources.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigError, match=words):
        DataSource.load(path, "geo")


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text("{x=:}$.[/ah", max_size=6)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
KEYS = [*TemplateSettings().fields, *OptionsSettings().fields]
TEMPLATES = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=5)
USABLE = TEMPLATES.map(lambda template: {"url": URL, **template})


@given(
    st.lists(
        st.fixed_dictionaries(
            {"template": TEMPLATES | USABLE | ANYTHING},
            optional={"functions": ANYTHING | st.dictionaries(st.text("fg"), ANYTHING)},
        ),
        max_size=2,
    ),
    st.dictionaries(st.sampled_from(sorted(DataSourceSettings().fields)), ANYTHING, max_size=4),
)
@profile(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_settings_raise_nothing_but_a_configuration_error(operations, others):
    with suppress(ConfigError):
        DataSource.from_config({**others, "operations": operations})


def test_each_option_has_a_stated_default():
    known = OptionsSettings().fields
    always_on = {"gzip", "forever"}

    assert set(default_values(OPTIONS)) == set(known) - always_on
    for group in ("retry", "pool"):
        assert set(default_values(OPTIONS, f"{group}.")) == set(known[group].schema.fields)


def nested(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_settings_that_are_nested_too_deeply_are_refused():
    widening = ["x"]
    for _ in range(60):
        widening = [widening, widening]
    itself = []
    itself.append(itself)

    for value in (nested(51), nested(100_000), widening, itself):
        with pytest.raises(ConfigError, match="more than 50 levels"):
            DataSource.from_config({"operations": value})
        with pytest.raises(ConfigError, match="more than 50 levels"):
            Template(value)
        with pytest.raises(ConfigError, match="more than 50 levels"):
            Template("{x}", {"x": {"default": value}})
    assert Template(nested(50)).build() == nested(50)


def test_file_that_is_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "datasources.json"
    path.write_text("[" * 100_000)

    with pytest.raises(ConfigError, match="cannot be read"):
        DataSource.load(path, "remote")


def test_environment_variable_that_no_name_can_be_is_not_set():
    with pytest.raises(ConfigError, match=r"environment variable \\ud800 is not set"):
        DataSource.from_config({"baseURL": {"$env": "\ud800"}})


@pytest.mark.parametrize("path", ["$.`sub()`", "$.`split()`", "$" + ".a" * 1200, "$" + ".a" * 101])
def test_response_path_that_cannot_be_compiled_is_a_problem(path):
    template = {"url": "http://h.example/", "responsePath": path}

    with pytest.raises(ConfigError) as caught:
        DataSource.from_config({"operations": [{"template": template}]})

    assert list(caught.value.errors) == ["operations[0].template.responsePath"]
