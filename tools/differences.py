"""Differences between calls of `app.connector` and LoopBack 3's, listed in docs/connector.md."""

from typing import NamedTuple


class Difference(NamedTuple):
    """A difference between LoopBack 3 and Ostiary, and the reason."""

    loopback: str
    ostiary: str
    reason: str


DIFFERENCES = {
    "path values": Difference(
        "The value of a variable in a URL is inserted as it is: `/`, `?`, `#` and `&` in it change"
        " the path and the query.",
        "It is percent-encoded; `.` and `..` are a `VariableError`.",
        "A value must not change the path that is called.",
    ),
    "deleting without an id": Difference(
        "`DELETE /users/{id}` without an id is sent as `DELETE /users/`.",
        "It is a `MissingVariableError`.",
        "It could delete the collection.",
    ),
    "variable hosts": Difference(
        "The value of a variable can be any host, or the whole URL.",
        "Only hosts of the settings are called, and those of `allowedHosts`.",
        "A value must not choose which service is called with the data source's credentials.",
    ),
    "header values": Difference(
        "A line break in a header fails when the request is sent.",
        "It is a `VariableError`.",
        "The caller's value is wrong, not the connection.",
    ),
    "defaults": Difference(
        "A default without a type ends at the next `:`, and takes the text up to a `}` that"
        " follows: `{x=100}ABC{y}` and `{x=http://a}` are not read as variables.",
        "It ends at its own `}`; `{x=}` has the empty text as default.",
        "This is what LoopBack documents, and did before 3.1.",
    ),
    "values of a wrong type": Difference(
        "A number that cannot be read is sent as `NaN` or `0`, and text given as a boolean as text;"
        " `enum` is not checked.",
        "All of these are a `VariableTypeError`; `true`, `false`, `1` and `0` are booleans, as text"
        " too.",
        "The remote service would get a value that is not intended.",
    ),
    "objects": Difference(
        "An object inside a text is sent as `[object Object]`, and JSON text given for an `object`"
        " as text.",
        "The first is a `VariableTypeError`, the second is parsed.",
        "The remote service would get a value that is not intended.",
    ),
    "missing names": Difference(
        'A variable in the name of an entry without a value is sent as `"null"`.',
        "It is a `VariableError`.",
        "The remote service would get a name that is not intended.",
    ),
    "broken JSON": Difference(
        "A body that is not JSON although its `Content-Type` says so is returned as text.",
        "It is a `ResponseDecodeError`; `json: false` returns the text.",
        "An invalid response is a failure of the remote service.",
    ),
    "redirects of other methods": Difference(
        "A redirect of a POST is not followed, and succeeds with its body.",
        "It is not followed either, and is an `HTTPStatusError`.",
        "The call has not been carried out.",
    ),
    "referers": Difference(
        "A request that follows a redirect has a `Referer`.",
        "It has none.",
        "The URL may hold an API key.",
    ),
    "credentials on two levels": Difference(
        "`auth` of the data source overrides `auth` and the header `Authorization` of a template.",
        "Those of the template override it.",
        "A template is more specific.",
    ),
    "relative urls": Difference(
        "`baseURL` is for resources only; a relative `url` of a template fails when it is called.",
        "A relative `url` starts at `baseURL`.",
        "It cannot mean anything else.",
    ),
    "response paths": Difference(
        "`[-1]`, and a path that starts with `.` or `[`, match nothing; `~` is the name of a"
        " match, `^` its parent; scripts in brackets, `@property` and `..length` are evaluated."
        " A path that cannot be read matches anything or nothing.",
        "All of these are refused when the data source is loaded, except `[(@.length-1)]`.",
        "A path that finds nothing would only be noticed when its data is needed, and no code from"
        " settings is evaluated.",
    ),
    "other matches": Difference(
        "The items of a string are its characters, `==` compares as JavaScript does, and a length"
        " of 0 is false in a filter; `[?@.a]` and `['a','b']` match nothing.",
        "Only lists have items, `==` compares values of one type, and a filter tests whether a"
        " value exists; `[?@.a]` is read as `[?(@.a)]`, and `['a','b']` as both names.",
        "The library that evaluates the paths, jsonpath-ng, defines them this way.",
    ),
    "urls and operations": Difference(
        "A `url` that is not an address fails when it is called; `operations` that are not a list"
        " are ignored.",
        "Both are refused when the data source is loaded.",
        "They cannot work.",
    ),
    "blanks in a method": Difference(
        "A `method` with a blank after it fails when it is called.",
        "The blank is removed.",
        "It cannot mean anything else.",
    ),
    "vendor types": Difference(
        "JSON is only read if `Accept` or `Content-Type` of a template is `application/json`; with"
        " `application/vnd.api+json` the body is returned as text.",
        "JSON is read with all of its media types.",
        "They are JSON (RFC 6839).",
    ),
    "parameters with a source": Difference(
        "A parameter that the template does not mention makes the data source fail.",
        "With a `source` it is sent there.",
        "This is what LoopBack documents.",
    ),
    "names of the data source": Difference(
        "A function with the name of a method of the data source replaces the method.",
        'It is reached by `operations`: `ds.operations["close"]`.',
        "The method would be lost.",
    ),
    "invoke of several operations": Difference(
        "`ds.invoke` of a data source with several operations calls the last.",
        "It is a `NotSupportedError`; `ds.f.invoke` names the operation.",
        "It is ambiguous.",
    ),
    "strictSSL": Difference(
        '`"false"`, as text, is true.',
        'For `strictSSL` it is refused; for other options, `"false"` is false.',
        "The service does not guess the value of a security setting.",
    ),
    "attachments": Difference(
        "`attachments` of a template sends files of the machine.",
        "It is ignored with a warning; `files` sends bytes and opened files.",
        "Settings and callers must not choose which file is read.",
    ),
    "headers in hooks": Difference(
        "`ctx.req.headers` has the headers of the template.",
        "It has those of the data source too.",
        "So a hook can change everything that is sent.",
    ),
    "surplus arguments": Difference(
        "Arguments that a function does not have are ignored.",
        "They are an `UnknownVariableError`, unless the data source has `compatibility`.",
        "They are usually mistakes.",
    ),
    "fixed arguments": Difference(
        'A parameter with a fixed value, `"path=geocode"`, has a position among the arguments.',
        "It has none, unless the data source has `compatibility`.",
        "The argument would be ignored.",
    ),
    "names of resources": Difference(
        "A model without `resourceName` and `plural` is at the English plural of its name.",
        "It is at its name; `plural=True` uses the plural.",
        "LoopBack documents both; a guessed plural is often wrong.",
    ),
    "flat filters": Difference(
        "`find` with a limit always adds `offset=0&skip=0`.",
        "It does for a filter; keyword arguments, and objects with names that no filter has, are"
        " sent as they are given.",
        "Remote services that do not know an entry often refuse it.",
    ),
    "filters as repeated entries": Difference(
        "With `useQuerystring`, the conditions of a filter are lost.",
        "They are sent.",
        "The response would have other objects than were requested.",
    ),
    "fields of the remote": Difference(
        "When an object is created or saved, only the id is taken from the response.",
        "The other fields of the response are taken, too.",
        "Defaults and time stamps of the remote service would be lost.",
    ),
    "exists and count": Difference(
        "`exists` and `count` are not supported.",
        "`exists` is a GET of the object, `count` a GET of `/count` below the resource.",
        "The first works with every service, the second with LoopBack services.",
    ),
    "deleted without a body": Difference(
        "A DELETE with the response 204 is an error.",
        "It succeeds.",
        "204 is the usual response.",
    ),
    "deleting everything": Difference(
        "`destroyAll` deletes the whole collection, even with a condition.",
        "It requires `confirm=True`, and refuses a condition.",
        "Data would be lost.",
    ),
    "objects in a query": Difference(
        "Every variable accepts an object.",
        "At an endpoint, a variable in the query, a header or the path accepts an object as JSON"
        " text, and only if its type is `object`, `array` or `json`.",
        "Otherwise, text that happens to be JSON stays text.",
    ),
}
