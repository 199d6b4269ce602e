"""Undocumented names of libraries that the importer uses, by the version in which they were read.

After an upgrade, `tests/test_internals.py` reports names that no longer exist; review the others.
"""

# The names of each module and class.
INTERNALS = {
    # The shadow proxy reads requests as the service does.
    "gunicorn==27.0.1": {
        "gunicorn.config.Config": "set",
        "gunicorn.http.body": "Body",
        "gunicorn.http.errors": "ParseException",
        "gunicorn.http.message.Request": "_expected_100_continue body headers method uri version",
        "gunicorn.http.parser": "RequestParser",
        "gunicorn.http.parser.RequestParser": "mesg_class",
    },
}
