"""Relations whose tables or columns are taken: by the model itself, another model, or users."""

import pytest

from tests.definitions.library import OPEN

FOLLOW = {
    "name": "Follow",
    "relations": {
        "follower": {"type": "belongsTo", "model": "Person"},
        "followee": {"type": "belongsTo", "model": "Person"},
        "previous": {
            "type": "hasMany",
            "model": "Follow",
            "through": "Follow",
            "foreignKey": "followerId",
            "keyThrough": "previousId",
        },
    },
    "acls": OPEN,
}
PERSON = {
    "name": "Person",
    "properties": {"name": "string"},
    "relations": {
        "follows": {
            "type": "hasMany",
            "model": "Follow",
            "through": "Follow",
            "foreignKey": "followerId",
            "keyThrough": "previousId",
        },
        "idols": {
            "type": "hasMany",
            "model": "Person",
            "through": "Follow",
            "foreignKey": "followerId",
            "keyThrough": "followeeId",
        },
        "friends": {"type": "hasAndBelongsToMany", "model": "Person"},
    },
    "acls": OPEN,
}


@pytest.fixture
def people(serve):
    """Ada and Bob; Ada follows Bob twice, the second time after the first."""
    api = serve({"follow": {**FOLLOW, "relations": {**FOLLOW["relations"]}}, "person": PERSON})
    token = api.newcomer()

    def call(verb, path, body=None):
        return api(verb, path, body, token=token)

    for name in ("Ada", "Bob"):
        call("POST", "/people", {"name": name})
    for previous in (None, 1):
        call("POST", "/follows", {"followerId": 1, "followeeId": 2, "previousId": previous})
    return call
