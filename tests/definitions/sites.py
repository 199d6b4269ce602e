"""Related models in JSON with every kind of relation, their rows, and conditions in Python."""

import json

from .library import rule

OWNED = [rule("$authenticated", property="create"), rule("$owner"), rule("admin")]
READ_BY_ALL = [rule("$everyone", accessType="READ"), rule("admin")]
READ_BY_USERS = [rule("$authenticated", accessType="READ"), rule("admin")]
OWNER = {"type": "belongsTo", "model": "user", "foreignKey": "ownerId"}


def belongs_to(model, key, **more):
    return {"type": "belongsTo", "model": model, "foreignKey": key, **more}


def has_many(model, key, **more):
    return {"type": "hasMany", "model": model, "foreignKey": key, **more}


ORGANIZATION = {
    "name": "Organization",
    "properties": {"name": "string", "level": "number"},
    "relations": {"sites": has_many("Site", "organizationId")},
    "acls": READ_BY_ALL,
}
SITE = {
    "name": "Site",
    "properties": {
        "name": "string",
        "level": "number",
        "opened": "date",
        "partner": "number",
        "code": "string",
    },
    "hidden": ["code"],
    "protected": ["partner"],
    "relations": {
        "owner": OWNER,
        "organization": belongs_to("Organization", "organizationId"),
        "tasks": has_many("Task", "siteId"),
        "openTasks": has_many("Task", "siteId", scope={"where": {"done": False}}),
        "contact": {"type": "hasOne", "model": "Contact", "foreignKey": "siteId"},
        "parent": belongs_to("Site", "parentId"),
        "children": has_many("Site", "parentId"),
        "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
        "members": {"type": "hasMany", "model": "Member", "through": "Shift"},
        "images": {"type": "hasMany", "model": "Image", "polymorphic": "shown"},
        "favourites": {"type": "referencesMany", "model": "Tag"},
    },
    "acls": [*OWNED, rule("partner", accessType="READ")],
}
TASK = {
    "name": "Task",
    "properties": {"name": "string", "level": "number", "done": "boolean", "gone": "boolean"},
    "scope": {"where": {"gone": False}},
    "relations": {
        "owner": OWNER,
        "site": belongs_to("Site", "siteId"),
        "bigSite": belongs_to("Site", "siteId", scope={"where": {"level": {"gt": 2}}}),
    },
    "acls": [*OWNED, rule("clerk", accessType="READ")],
}
CONTACT = {
    "name": "Contact",
    "properties": {"name": "string", "level": "number"},
    "relations": {"site": belongs_to("Site", "siteId")},
    "acls": READ_BY_USERS,
}
TAG = {
    "name": "Tag",
    "properties": {"name": "string", "level": "number"},
    "relations": {"sites": {"type": "hasAndBelongsToMany", "model": "Site"}},
    "acls": READ_BY_ALL,
}
MEMBER = {
    "name": "Member",
    "properties": {"name": "string", "level": "number"},
    "relations": {
        "owner": OWNER,
        "sites": {"type": "hasMany", "model": "Site", "through": "Shift"},
        "images": {"type": "hasMany", "model": "Image", "polymorphic": "shown"},
    },
    "acls": OWNED,
}
SHIFT = {
    "name": "Shift",
    "relations": {"site": belongs_to("Site", "siteId"), "member": belongs_to("Member", "memberId")},
    "acls": READ_BY_USERS,
}
IMAGE = {
    "name": "Image",
    "properties": {"name": "string", "level": "number"},
    "relations": {"shown": {"type": "belongsTo", "polymorphic": True}},
    "acls": READ_BY_USERS,
}
MODELS = {
    model["name"].lower(): model
    for model in (ORGANIZATION, SITE, TASK, CONTACT, TAG, MEMBER, SHIFT, IMAGE)
}
CODE = {
    "site": """
def extend(site):
    site.roles["partner"] = lambda user_id: site.model.partner == user_id
"""
}
USERS = {"ada": 1, "bob": 2, "clerk": 3, "root": 4}
CALLERS = (None, *USERS)
# The relations of each collection that conditions may use: their targets, and whether they lead to
# many rows.
RELATIONS = {
    "organizations": {"sites": ("sites", True)},
    "sites": {
        "organization": ("organizations", False),
        "tasks": ("tasks", True),
        "openTasks": ("tasks", True),
        "contact": ("contacts", False),
        "parent": ("sites", False),
        "children": ("sites", True),
        "tags": ("tags", True),
        "members": ("members", True),
        "images": ("images", True),
        "favourites": ("tags", True),
    },
    "tasks": {"site": ("sites", False), "bigSite": ("sites", False)},
    "contacts": {"site": ("sites", False)},
    "tags": {"sites": ("sites", True)},
    "members": {"sites": ("sites", True), "images": ("images", True)},
    "images": {},
}
NAMES = ("a", "b", "B", None)


def rows(random):
    """Yield collections, each with the values of new rows, in an order that keys permit."""

    def some(**more):
        return {"name": random.choice(NAMES), "level": random.choice((1, 2, 3, None)), **more}

    def owner():
        return {"ownerId": random.choice((1, 2))}

    def key(count):
        return random.choice((None, *range(1, count + 1)))

    yield "organizations", [some() for _ in range(3)]
    yield "tags", [some() for _ in range(4)]
    yield "members", [some(**owner()) for _ in range(5)]
    yield (
        "sites",
        [
            some(
                **owner(),
                opened=f"202{number % 2}-0{number % 4 + 1}-10T09:00:00Z" if number % 5 else None,
                organizationId=key(3),
                parentId=key(number) if number else None,
                partner=random.choice((None, 1, 2, 3)),
                tagIds=random.sample(range(1, 6), random.randrange(3)),
            )
            for number in range(9)
        ],
    )
    yield (
        "tasks",
        [
            some(
                **owner(),
                siteId=key(9),
                done=random.random() < 0.5,
                gone=random.random() < 0.2,
            )
            for _ in range(14)
        ],
    )
    yield "contacts", [some(siteId=number) for number in range(1, 10) if random.random() < 0.6]
    shown = ("Site", "Member")
    yield (
        "images",
        [some(shownId=random.randrange(1, 6), shownType=random.choice(shown)) for _ in range(10)],
    )
    pairs = {(random.randrange(1, 10), random.randrange(1, 6)) for _ in range(12)}
    yield "shifts", [{"siteId": site, "memberId": member} for site, member in pairs]


def fill(api, random):
    """Store users and rows; return the tokens of callers."""
    tokens = {name: api.logged_in(f"{name}@example.com") for name in USERS}
    runner = api.client.application.test_cli_runner()
    for name, role in (("clerk", "clerk"), ("root", "admin")):
        runner.invoke(args=["roles", "grant", f"{name}@example.com", role])
    for collection, made in rows(random):
        for values in made:
            response = api("POST", f"/{collection}", values, token=tokens["root"])
            assert response.status_code == 200, (collection, values, response.json)
    for _ in range(12):
        path = f"/sites/{random.randrange(1, 10)}/tags/rel/{random.randrange(1, 5)}"
        api("PUT", path, token=tokens["root"])
    return {None: None, **tokens}


def ask(api, path, token, **parameters):
    query = {name: json.dumps(value) for name, value in parameters.items()}
    return api("GET", path, token=token, query_string=query)


def as_include(tree):
    """Return a tree of relations as an include."""
    return [{"relation": name, "scope": {"include": as_include(tree[name])}} for name in tree]
