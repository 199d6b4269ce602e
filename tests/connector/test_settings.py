"""What wrong settings get: one error with every problem by its place."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from app.connector import ConfigError, DataSource
from app.connector.settings import DATA_SOURCE_KEYS, OptionsSettings, TemplateSettings

URL = "http://h.example/x"


def errors_of(settings):
    with pytest.raises(ConfigError) as caught:
        DataSource.from_config(settings, name="remote")
    return caught.value.errors


def errors_of_operation(**operation):
    return errors_of({"operations": [operation]})


def errors_of_template(**template):
    return errors_of_operation(template={"url": URL, **template})


WRONG_OPERATIONS = [
    ("nope", "operations", "must be a list, got a string"),
    ({"a": 1}, "operations", "must be a list, got an object"),
    ([{}], "operations[0]", "template is missing"),
    ([{"template": None}], "operations[0]", "template is missing"),
    (["x"], "operations[0]", "must be an object, got a string"),
    ([None], "operations[0]", "must be an object, got null"),
    ([{"template": "x"}], "operations[0].template", "must be an object, got a string"),
    (
        [{"template": {"url": URL}, "functions": []}],
        "operations[0].functions",
        "must be an object of lists, got a list",
    ),
    (
        [{"template": {"url": URL}, "functions": {"f": "a"}}],
        "operations[0].functions.f",
        "must be a list of parameters, got a string",
    ),
    (
        [{"template": {"url": URL}, "functions": {"f": [None]}}],
        "operations[0].functions.f[0]",
        "must be a name or an object with a name, got null",
    ),
    (
        [{"template": {"url": URL}, "functions": {"f": [5]}}],
        "operations[0].functions.f[0]",
        "must be a name or an object with a name, got a number",
    ),
    (
        [{"template": {"url": URL}, "function": {}}],
        "operations[0].function",
        "unknown key 'function'; did you mean 'functions'?",
    ),
]


@pytest.mark.parametrize(("operations", "place", "message"), WRONG_OPERATIONS)
def test_wrong_operations_are_named(operations, place, message):
    assert errors_of({"operations": operations}) == {place: [message]}


WRONG_TEMPLATES = [
    ({"url": "/x"}, "url", "is relative and there is no baseURL; write http:// or https://"),
    ({"url": ""}, "url", "is relative and there is no baseURL; write http:// or https://"),
    ({"url": "ftp://h/x"}, "url", "must start with http:// or https://"),
    ({"url": "http://u:p@h/x"}, "url", "credentials do not belong into a url; use options.auth"),
    ({"url": "http://"}, "url", "has no host"),
    ({"url": "http://?x"}, "url", "has no host"),
    ({"url": "http://h/../x"}, "url", "must not contain . or .. as a path segment"),
    ({"qurey": {}}, "qurey", "unknown key 'qurey'; did you mean 'query'?"),
    ({"zzz": 1}, "zzz", "unknown key 'zzz'"),
    ({"method": "FOO BAR"}, "method", "'FOO BAR' cannot be used as a method"),
    ({"query": "a={b}"}, "query", "must be an object or one variable"),
    ({"query": "a=b"}, "query", "must be an object or one variable"),
    ({"variables": {"x": 5}}, "variables.x", "must be an object, got a number"),
    (
        {"paginate": {"type": "page", "items": "$["}},
        "paginate.items",
        "Parse error near the end of string!",
    ),
    ({"method": 5}, "method", "must be a text, got a number"),
    ({"headers": []}, "headers", "must be an object, got a list"),
    ({"fullResponse": "yes"}, "fullResponse", "must be true or false"),
    ({"omitMissing": 1}, "omitMissing", "must be true or false"),
    ({"options": {"strictSSL": "false"}}, "options.strictSSL", "must be true or false"),
    (
        {"options": {"strictSSl": False}},
        "options.strictSSl",
        "unknown key 'strictSSl'; did you mean 'strictSSL'?",
    ),
    ({"options": 5}, "options", "must be an object, got a number"),
    (
        {"options": {"timeout": "1"}},
        "options.timeout",
        "must be a whole number from 1 on, got a string",
    ),
    (
        {"options": {"timeout": True}},
        "options.timeout",
        "must be a whole number from 1 on, got a boolean",
    ),
    ({"options": {"timeout": 0}}, "options.timeout", "must be a whole number from 1 on, got 0"),
    (
        {"options": {"timeout": {"raed": 1}}},
        "options.timeout.raed",
        "unknown key 'raed'; did you mean 'read'?",
    ),
    (
        {"options": {"retry": {"methods": [1]}}},
        "options.retry.methods[0]",
        "must be a text, got a number",
    ),
    (
        {"options": {"retry": {"statuses": 500}}},
        "options.retry.statuses",
        "must be a list, got a number",
    ),
    (
        {"options": {"auth": {"bearr": "x"}}},
        "options.auth.bearr",
        "unknown key 'bearr'; did you mean 'bearer'?",
    ),
    (
        {"options": {"auth": {"oauth2": {"tokenUrl": "x", "clientId": "y"}}}},
        "options.auth.oauth2.clientSecret",
        "Missing data for required field.",
    ),
    (
        {"responseSelect": "frist"},
        "responseSelect",
        "must be one of auto, all, first; did you mean 'first'?",
    ),
    ({"onNoMatch": 5}, "onNoMatch", "must be one of empty, null, error"),
    ({"responsePath": 5}, "responsePath", "must be a text, got a number"),
    ({"variables": []}, "variables", "must be an object, got a list"),
    (
        {"variables": {"x": {"type": "nubmer"}}},
        "variables.x.type",
        "must be one of string, any, path, number, integer, boolean, object, array, json; "
        "did you mean 'number'?",
    ),
    ({"paginate": {"type": "next"}}, "paginate.path", "is needed for type 'next'"),
    ({"paginate": {}}, "paginate.type", "Missing data for required field."),
]


@pytest.mark.parametrize(("template", "place", "message"), WRONG_TEMPLATES)
def test_wrong_template_is_named(template, place, message):
    assert errors_of_template(**template) == {f"operations[0].template.{place}": [message]}


@pytest.mark.parametrize("path", ["$.a[", "", "$.$type", "$.ünï"])
def test_malformed_response_path_is_named_with_what_the_parser_says(path):
    errors = errors_of_template(responsePath=path)

    assert list(errors) == ["operations[0].template.responsePath"]
    assert errors["operations[0].template.responsePath"][0]


def test_malformed_response_path_names_the_column():
    errors = errors_of_template(responsePath="$.a.?")

    assert "col" in str(errors) or "1:" in str(errors)


WRONG_FUNCTIONS = [
    ({"m1": ["nope"]}, "m1[0]", "'nope' is not a variable of this template (it has: a, p, x)"),
    (
        {"m1": ["xx"]},
        "m1[0]",
        "'xx' is not a variable of this template (it has: a, p, x); did you mean 'x'?",
    ),
    (
        {"m1": [{"name": "x", "source": "bogus"}]},
        "m1[0]",
        "source must be one of path, query, header, body, form",
    ),
    (
        {"m1": [{"name": "x", "sauce": "path"}]},
        "m1[0]",
        "unknown key 'sauce'; did you mean 'source'?",
    ),
    (
        {"m1": [{"source": "path"}]},
        "m1[0]",
        "must be a name or an object with a name, got an object",
    ),
    ({"m1": ["x", "x"]}, "m1[1]", "parameter 'x' is there twice"),
    ({"define": []}, "define", "'define' is a DataSource method; rename the function"),
    ({"close": []}, "close", "'close' is a DataSource method; rename the function"),
    ({"operations": []}, "operations", "'operations' is a DataSource method; rename the function"),
    ({"_x": []}, "_x", "a function's name must not be empty or start with _"),
    ({"": []}, "", "a function's name must not be empty or start with _"),
]


@pytest.mark.parametrize(("functions", "place", "message"), WRONG_FUNCTIONS)
def test_wrong_function_is_named(functions, place, message):
    errors = errors_of_operation(
        template={"url": f"{URL}/{{p}}", "query": {"x": "{x}"}, "headers": {"a": "{a}"}},
        functions=functions,
    )

    assert [message] in errors.values() or message.replace("a, p, x", "p, a, x") in str(errors)
    assert all(key.startswith("operations[0].functions") for key in errors)


@pytest.mark.parametrize("connector", ["soap", None, 5])
def test_connector_of_another_kind_is_refused(connector):
    assert "connector" in errors_of({"connector": connector})


def test_header_of_the_settings_that_cannot_be_sent_is_a_configuration_error(monkeypatch):
    monkeypatch.setenv("KEY", "k3y-from-a-file\n")
    settings = {"operations": [{"template": {"url": URL}}]}

    for options in ({"headers": {"x": "a\nb"}}, {"auth": {"bearer": {"$env": "KEY"}}}):
        errors = errors_of({**settings, "options": options})

        assert "must not contain line breaks" in str(errors)
        assert "k3y" not in str(errors)


def test_place_of_a_parameter_counts_the_wrong_ones_too():
    errors = errors_of_operation(template={"url": URL}, functions={"f": [None, "nope"]})

    assert set(errors) == {"operations[0].functions.f[0]", "operations[0].functions.f[1]"}


def test_function_named_twice_is_refused():
    operation = {"template": {"url": URL}, "functions": {"f": []}}

    assert errors_of({"operations": [operation, operation]}) == {
        "operations[1].functions.f": ["there is already a function 'f'"]
    }


def test_parameter_source_without_room_is_refused():
    errors = errors_of_operation(
        template={"url": URL, "body": "{b}"}, functions={"f": [{"name": "n", "source": "body"}]}
    )

    assert "'n' is not a variable of this template" in str(errors)


VARIABLES = [
    ({"query": {"a": "{x:banana}"}}, "query.a", "unknown type 'banana'"),
    ({"body": {"a": ["{x=q:number}"]}}, "body.a[0]", "the default does not fit"),
    (
        {"query": {"a": "{x=c}"}, "variables": {"x": {"enum": ["a"]}}},
        "query.a",
        "the default does not fit",
    ),
    (
        {"query": {"a": "{x}"}, "variables": {"x": {"type": "number", "default": "q"}}},
        "variables.x",
        "the default does not fit",
    ),
]


@pytest.mark.parametrize(("template", "place", "message"), VARIABLES)
def test_wrong_variable_is_named_with_its_place(template, place, message):
    errors = errors_of_template(**template)

    assert message in errors[f"operations[0].template.{place}"][0]


def test_every_problem_is_listed_at_once():
    errors = errors_of(
        {
            "baseURL": "ftp://h",
            "debug": "maybe",
            "options": {"strictSSL": "no"},
            "operations": [
                {"template": {"url": "/a", "qurey": {}}},
                {},
                {"template": {"url": "http://h/{x:nix}"}, "functions": {"f": ["y"]}},
            ],
        }
    )

    assert set(errors) == {
        "baseURL",
        "debug",
        "options.strictSSL",
        "operations[0].template.qurey",
        "operations[1]",
        "operations[2].template.url",
        "operations[2].functions.f[0]",
    }


def test_message_names_data_source_place_and_problem():
    with pytest.raises(ConfigError, match=r"data source 'geo': operations\[0\]: template is"):
        DataSource.from_config({"operations": [{}]}, name="geo")


@pytest.mark.parametrize("settings", [None, [], "x", 5])
def test_settings_that_are_no_object_are_refused(settings):
    assert "the settings must be an object" in str(errors_of(settings))


@pytest.mark.parametrize(
    "base", ["h.example", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h#x"]
)
def test_base_url_that_is_none_is_refused(base):
    assert "baseURL" in errors_of({"baseURL": base})
    assert "restPath" in errors_of({"restPath": base})


def test_rest_path_is_another_name_for_the_base_url():
    source = DataSource.from_config(
        {"restPath": URL, "operations": [{"template": {"url": "y"}, "functions": {"f": []}}]}
    )

    assert source.f.prepare().full_url == f"{URL}/y"


def test_unknown_key_of_a_data_source_is_a_warning(caplog):
    DataSource.from_config({"baseUrl": "http://h"}, name="remote")

    assert "unknown key 'baseUrl'; did you mean 'baseURL'?" in caplog.text


def test_public_and_acls_are_read_and_not_warned_about(caplog):
    source = DataSource.from_config({"public": True, "acls": [{"permission": "ALLOW"}]})

    assert source.public is True
    assert source.acls == [{"permission": "ALLOW"}]
    assert caplog.text == ""
    assert DataSource.from_config({}).public is False


@pytest.mark.parametrize(("value", "debug"), [("false", False), ("true", True), (True, True)])
def test_debug_may_be_a_text(value, debug):
    assert DataSource.from_config({"debug": value})._calls.debug is debug


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"template": {"url": URL, "body": {}}}, "a GET with a body"),
        ({"template": {"url": URL + "/{p}"}}, "url variable p is optional"),
        (
            {"template": {"url": URL, "query": {"a": "{!r}"}}, "functions": {"f": []}},
            "required variable r is not a parameter",
        ),
        (
            {"template": {"url": URL, "options": {"strictSSL": False}}},
            "certificates are not checked",
        ),
        ({"template": {"url": URL, "timeout": 30}}, "timeout is in milliseconds"),
    ],
)
def test_what_works_and_is_probably_not_meant_is_a_warning(caplog, operation, message):
    with caplog.at_level(logging.WARNING, "app.connector"):
        DataSource.from_config({"operations": [operation]})

    assert message in caplog.text


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

    assert errors == {"options.auth.bearer": ["environment variable NOPE is not set"]}


def test_environment_flag_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("STRICT", "maybe")

    errors = errors_of({"options": {"strictSSL": {"$env": "STRICT"}}})

    assert errors == {"options.strictSSL": ["must be true or false"]}


@pytest.mark.parametrize("value", [{"$env": "A", "b": 1}, {"$env": 5}])
def test_malformed_environment_reference_is_refused(value):
    assert "$env is written" in str(errors_of({"options": {"headers": {"a": value}}}))


def test_load_reads_one_data_source_of_a_file(tmp_path):
    path = tmp_path / "datasources.json"
    path.write_text(
        json.dumps({"geo": {"operations": [{"template": {"url": URL}, "functions": {"find": []}}]}})
    )

    source = DataSource.load(path, "geo")

    assert (source.name, list(source.operations)) == ("geo", ["find"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"goe": {}}', "has no data source 'geo'; did you mean 'goe'"),
        ("[]", "has no data source 'geo'"),
        ("{", "cannot be read: Expecting property name"),
        (None, "cannot be read"),
    ],
)
def test_file_that_cannot_be_used_is_a_configuration_error(tmp_path, content, message):
    path = tmp_path / "datasources.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigError, match=message):
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
    st.dictionaries(st.sampled_from(sorted(DATA_SOURCE_KEYS)), ANYTHING, max_size=4),
)
@profile(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_settings_raise_nothing_but_a_configuration_error(operations, others):
    with suppress(ConfigError):
        DataSource.from_config({**others, "operations": operations})
