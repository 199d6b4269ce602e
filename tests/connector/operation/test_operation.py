"""Functions and invoke: arguments, callbacks, signatures, metadata, source."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import app.connector
from app.connector import (
    ConnectError,
    DataSource,
    HTTPStatusError,
    MissingVariableError,
    NotSupportedError,
    UnknownVariableError,
)

GEOCODE = {
    "template": {
        "method": "GET",
        "url": "/echo/{format=json}",
        "headers": {"accept": "application/json", "x-tenant": "{tenant}"},
        "query": {"address": "{^street},{city},{zipcode}", "sensor": "{sensor=false:boolean}"},
        "responsePath": "$.query",
        "responseSelect": "first",
    },
    "functions": {"geocode": ["street", "city", "zipcode"]},
}
ADDRESS = "address=107%20S%20B%20St%2CSan%20Mateo%2C94401&sensor=false"


@pytest.fixture
def source(connect) -> DataSource:
    return connect([GEOCODE])


def test_function_takes_its_parameters_in_order(source):
    assert source.geocode("107 S B St", "San Mateo", "94401") == ADDRESS


def test_function_takes_its_parameters_by_name(source):
    assert source.geocode(street="107 S B St", city="San Mateo", zipcode="94401") == ADDRESS


def test_function_with_a_callback_returns_nothing_and_calls_it(source):
    seen = []

    result = source.geocode("107 S B St", "San Mateo", "94401", lambda *args: seen.append(args))

    assert result is None
    error, body, response = seen[0]
    assert (error, body, response.status_code) == (None, ADDRESS, 200)


def test_callback_may_follow_too_few_arguments(source):
    seen = []
    source.geocode("s", lambda error, body, response: seen.append(body))

    assert seen == ["address=s%2C%2C&sensor=false"]


def test_invoke_takes_one_object_and_a_callback(source):
    seen = []
    values = {"street": "107 S B St", "city": "San Mateo", "zipcode": "94401"}

    assert source.geocode.invoke(values) == ADDRESS
    assert source.invoke(values) == ADDRESS
    assert source.invoke(**values) == ADDRESS
    assert source.geocode.invoke(values, lambda *args: seen.append(args)) is None
    assert source.invoke(values, lambda *args: seen.append(args)) is None
    assert [entry[1] for entry in seen] == [ADDRESS, ADDRESS]


def test_invoke_takes_a_callback_alone(connect):
    seen = []
    connect([{"template": {"url": "/text"}}]).invoke(lambda *args: seen.append(args[1]))

    assert seen == ["plain words"]


def test_invoke_reaches_variables_that_are_no_parameters(source):
    assert source.geocode.invoke(street="s", sensor=True).endswith("sensor=true")


def test_invoke_of_a_data_source_with_several_operations_is_refused(connect):
    source = connect([GEOCODE, {"template": {"url": "/echo"}, "functions": {"other": []}}])

    with pytest.raises(NotSupportedError, match=r"exactly one operation.*geocode, other"):
        source.invoke({"street": "s"})


def test_invoke_of_one_operation_with_several_functions_uses_the_operation(connect):
    functions = {"f": ["path=echo"], "g": ["path=text"]}
    source = connect([{"template": {"url": "/{path}"}, "functions": functions}])

    assert source.invoke(path="text") == "plain words"


def test_invoke_without_operations_is_refused(connect):
    with pytest.raises(NotSupportedError, match="exactly one operation"):
        connect().invoke()


def test_invoke_accepts_variables_named_like_its_own_arguments(connect):
    source = connect([{"template": {"url": "/echo", "query": {"p": "{params}", "s": "{self}"}}}])

    assert source.invoke(params=1, self=2)["query"] == "p=1&s=2"


def test_callback_gets_the_error_of_a_status(connect):
    seen = []
    source = connect([{"template": {"url": "/status/404"}, "functions": {"f": []}}])

    source.f(lambda *args: seen.append(args))

    error, body, response = seen[0]
    assert isinstance(error, HTTPStatusError)
    assert body == {"message": "status 404"}
    assert response.status_code == 404


def test_callback_gets_the_error_of_a_connection(connect):
    seen = []
    connect([{"template": {"url": "/reset"}}]).invoke({}, lambda *args: seen.append(args))

    assert isinstance(seen[0][0], ConnectError)
    assert seen[0][1:] == (None, None)


def test_mistake_in_the_call_raises_in_spite_of_a_callback(source):
    message = r"^Required variable street has no value$"
    with pytest.raises(MissingVariableError, match=message) as caught:
        source.geocode(None, pytest.fail)

    assert caught.value.operation == "geocode"


def test_mistake_found_while_encoding_raises_in_spite_of_a_callback(connect):
    source = connect([{"template": {"method": "POST", "url": "/echo", "body": "{b}"}}])

    with pytest.raises(ValueError, match="cannot be written as JSON"):
        source.invoke({"b": object()}, pytest.fail)


def test_error_of_the_callback_is_not_fed_back_into_it(source):
    calls = []

    def callback(*args):
        calls.append(args)
        raise ConnectError("mine")

    with pytest.raises(ConnectError, match=r"^mine$"):
        source.geocode("s", callback)

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        (("a", "b", "c", "d"), {}, r"geocode\(\) takes 3 arguments"),
        ((), {"stret": "x"}, "has no parameter 'stret'; did you mean 'street'"),
        (("a",), {"street": "x"}, "two values for 'street'"),
        ((), {"sensor": True}, "has no parameter 'sensor'"),
    ],
)
def test_wrong_arguments_are_refused_like_those_of_any_function(source, args, named, message):
    with pytest.raises(UnknownVariableError, match=message) as caught:
        source.geocode(*args, **named)

    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("params", ["street", ["street"], 5])
def test_invoke_of_something_else_than_an_object_is_refused(source, params):
    with pytest.raises(UnknownVariableError, match=r"geocode\.invoke takes one object, got a"):
        source.geocode.invoke(params)


def test_unknown_name_in_invoke_is_refused(source):
    with pytest.raises(UnknownVariableError, match="has no variable 'stret'; did you mean"):
        source.geocode.invoke({"stret": "x"})


def test_surplus_arguments_and_unknown_names_are_ignored_for_loopback(connect):
    source = connect([GEOCODE], compatibility="loopback3")

    assert source.geocode("107 S B St", "San Mateo", "94401", "more", 5) == ADDRESS
    assert source.geocode.invoke({"street": "s", "stret": "x"}) == "address=s%2C%2C&sensor=false"
    assert source.invoke(street="s", nope=1) == "address=s%2C%2C&sensor=false"
    with pytest.raises(UnknownVariableError):
        source.geocode(stret="x")


def test_fixed_parameter_has_a_position_and_is_exposed_for_loopback(connect):
    template = {"url": "/{path}/{x}", "responsePath": "$.path", "responseSelect": "first"}
    functions = {"f": ["path=echo", "x"]}
    source = connect([{"template": template, "functions": functions}], compatibility="loopback3")

    assert source.f("ignored", "a") == "/echo/a"
    assert source.f(x="a", path="ignored") == "/echo/a"
    assert [each["arg"] for each in source.f.accepts] == ["path", "x"]
    assert source.f.http["path"] == "/f/:path/:x"


def test_parameters_with_a_path_source_are_exposed_in_their_positions(connect):
    template = {"url": "/echo/{a}", "query": {"q": "{q}", "p": "{p}"}}
    parameters = ["q", {"name": "p", "source": "path"}, "a", {"name": "z", "source": "path"}]
    source = connect([{"template": template, "functions": {"f": parameters}}])

    sources = [(each["arg"], each["http"]["source"]) for each in source.f.accepts]
    assert sources == [("q", "query"), ("p", "path"), ("a", "path"), ("z", "path")]
    assert source.f.http["path"] == "/f/:p/:a/:z"
    seen = source.f(1, 2, 3, 4)
    assert (seen["path"], seen["query"]) == ("/echo/3/4", "q=1&p=2")


def test_parameter_that_is_listed_twice_takes_the_last_argument(connect):
    template = {"url": "/echo", "query": {"q": "{q}"}}
    source = connect([{"template": template, "functions": {"f": ["q", "q"]}}])

    assert source.f(1)["query"] == "q=1"
    assert source.f(1, 2)["query"] == "q=2"
    assert str(inspect.signature(source.f)) == "(*args, **named)"


def test_variables_of_texts_that_are_not_sent_are_parameters_without_effect(connect):
    template = {"url": "/echo", "doc": "What {x} is.", "qurey": {"y": "{y}"}}
    source = connect([{"template": template, "functions": {"f": ["x", "y"]}}])

    assert source.f(1, 2)["query"] == ""


def test_fixed_default_of_a_function_cannot_be_given_by_position(connect):
    template = {"url": "/{path}/{x}", "responsePath": "$.path", "responseSelect": "first"}
    source = connect(
        [
            {
                "template": template,
                "functions": {"f": ["x", "path=echo=1"], "g": [{"name": "path=echo"}, "x"]},
            }
        ]
    )

    assert source.g("a") == "/echo/a"
    assert source.f("a") == "/echo%3D1/a"
    assert source.f.parameters == ("x",)
    with pytest.raises(UnknownVariableError):
        source.f("a", "OTHER")


def test_several_functions_share_a_template(connect):
    source = connect(
        [
            {
                "template": {"url": "/echo/{x}", "query": {"y": "{y}"}},
                "functions": {"f": ["x"], "g": ["y", "x"]},
            }
        ]
    )

    assert source.f(1)["path"] == "/echo/1"
    assert source.g(2, 1)["query"] == "y=2"


def test_functions_are_found_by_name_and_by_attribute(source):
    assert source.operations["geocode"] is source.geocode
    assert "geocode" in dir(source)
    assert repr(source) == "<DataSource remote: geocode>"


def test_unknown_function_is_an_attribute_error_with_a_hint(source):
    with pytest.raises(AttributeError, match="no function 'geocoed' here; did you mean 'geocode'"):
        source.geocoed()


def test_signature_shows_required_first_and_defaults(connect):
    source = connect(
        [
            {
                "template": {"url": "/echo/{!a}/{b=2:number}/{c}"},
                "functions": {"f": ["a", "b", "c"], "g": ["b", "a"]},
            }
        ]
    )

    assert str(inspect.signature(source.f)) == "(a, b=2, c=None)"
    assert str(inspect.signature(source.g)) == "(b, a)"
    assert repr(source.f) == "<Operation f(a, b=2, c=None)>"


def test_signature_of_names_that_python_does_not_know_is_open(connect):
    source = connect(
        [{"template": {"url": "/echo/{class}/{$p}"}, "functions": {"f": ["class", "$p"]}}]
    )

    assert str(inspect.signature(source.f)) == "(*args, **named)"
    assert source.f(1, **{"$p": 2})["path"] == "/echo/1/2"


def test_metadata_says_where_variables_are_sent(connect):
    source = connect(
        [
            {
                "template": {
                    "method": "POST",
                    "url": "/echo/{p}",
                    "query": {"q": "{q:number}"},
                    "body": {"b": "{!b}"},
                    "headers": {"h": "{h}"},
                    "variables": {"q": {"doc": "how many", "enum": [1, 2], "secret": True}},
                },
                "functions": {"m1": ["h", "p", {"name": "q", "source": "header"}, "b"]},
            }
        ]
    )
    operation = source.m1

    assert operation.accepts == [
        {"arg": "h", "type": "string", "required": False, "http": {"source": "header"}},
        {"arg": "p", "type": "string", "required": False, "http": {"source": "path"}},
        {"arg": "q", "type": "number", "required": False, "http": {"source": "header"}},
        {"arg": "b", "type": "string", "required": True, "http": {"source": "body"}},
    ]
    assert operation.http == {"verb": "post", "path": "/m1/:p"}
    assert operation.returns == {"arg": "data", "type": "object", "root": True}
    assert (operation.name, operation.method, operation.url) == ("m1", "POST", "/echo/{p}")
    assert operation.variables["q"].doc == "how many"
    assert operation.variables["q"].enum == (1, 2)
    assert operation.variables["q"].secret


def test_source_does_not_move_a_variable_of_the_template(connect):
    source = connect(
        [
            {
                "template": {"url": "/echo", "query": {"q": "{q}"}},
                "functions": {"f": [{"name": "q", "source": "header"}]},
            }
        ]
    )

    seen = source.f(1)

    assert seen["query"] == "q=1"
    assert "q" not in seen["headers"]


def test_variable_outside_the_template_is_sent_where_its_source_says(connect):
    source = connect(
        [
            {
                "template": {
                    "method": "POST",
                    "url": "/echo/x?z=1",
                    "body": {"a": 1},
                    "variables": {"n": {"type": "number"}},
                },
                "functions": {
                    "f": [
                        {"name": "p1", "source": "path"},
                        {"name": "h", "source": "header"},
                        {"name": "q", "source": "query"},
                        {"name": "n", "source": "body"},
                        {"name": "p2", "source": "path"},
                    ]
                },
            }
        ]
    )

    seen = source.f("a/b", "head", "query", "5", "c")

    assert seen["path"] == "/echo/x/a%2Fb/c"
    assert seen["query"] == "z=1&q=query"
    assert seen["headers"]["h"] == "head"
    assert seen["json"] == {"a": 1, "n": 5}
    assert source.f.http["path"] == "/f/:p1/:p2"


def test_variable_outside_the_template_may_go_into_a_form(connect):
    source = connect(
        [
            {
                "template": {"method": "POST", "url": "/echo"},
                "functions": {"f": [{"name": "a", "source": "form"}]},
            }
        ]
    )

    assert source.f(1)["text"] == "a=1"


def test_prepare_shows_the_request_without_sending_it(source, server):
    request = source.geocode.prepare("a b", city="c")

    assert request.method == "GET"
    assert request.full_url == f"{server.url}/echo/json?address=a%20b%2Cc%2C&sensor=false"
    assert server.seen == []


def test_curl_command_repeats_the_request(connect, server):
    source = connect(
        [
            {
                "template": {"method": "POST", "url": "/echo", "body": {"a": "{a}"}},
                "functions": {"f": ["a"]},
            }
        ]
    )

    command = source.f.prepare("it's").as_curl()

    assert command.startswith(f"curl -X POST {server.url}/echo -H ")
    assert "--data-binary" in command
    assert "Content-Type: application/json" in command


def test_curl_command_names_files_without_reading_them(connect):
    source = connect(
        [
            {
                "template": {"method": "POST", "url": "/echo", "files": {"f": "{f}"}},
                "functions": {"up": ["f"]},
            }
        ]
    )

    assert source.up.prepare(b"data").as_curl().endswith("-F f=@f")


def test_data_source_closes_with_a_block(server):
    with DataSource.from_config(
        {"operations": [{"template": {"url": server.url + "/text"}}]}
    ) as source:
        assert source.invoke() == "plain words"


@pytest.mark.live
def test_connector_is_importable_without_flask_and_database():
    code = (
        "import sys, app.connector;"
        "print({'flask', 'sqlalchemy', 'werkzeug', 'flask_sqlalchemy'} & set(sys.modules))"
    )
    root = Path(app.connector.__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )

    assert result.stdout.strip() == "set()"
