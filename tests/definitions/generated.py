"""Generated files of models in JSON: most of them nearly right, some of them not."""

from hypothesis import strategies as st

NAMES = ["note", "Book", "user", "User", "Customer", "todo", "orderItem", "a-b", "select", "id", ""]
NAMES += ["x" * 64, "é", "a b", "class", "and", "__proto__", "9", "owner"]
PROPERTIES = ["id", "title", "ownerId", "userId", "bookId", "a", "A", "a_b", "aB", "and", "x y", ""]
PROPERTIES += ["$x", "class", "load", "fields", "metadata", "created", "note", "é", "x" * 80]
TYPES = ["string", "String", "number", "integer", "boolean", "date", "dateonly", "decimal", "uuid"]
TYPES += ["objectid", "object", "array", "geopoint", "any", "strng", "Book", "", ["string"]]
TYPES += [["number"], ["object"], [], [["string"]], {"a": "string"}, None, 5, True]
# Names of what rows, users, tuples and paths have anyway, as properties, keys and relations.
TAKEN = ["realm", "username", "created", "passwordHash", "metadata", "status", "accessTokens"]
TAKEN += ["audit", "exists", "replace", "count", "index", "t", "createdAt", "others_", "todos"]
RELATIONS = ["belongsTo", "hasOne", "hasMany", "hasAndBelongsToMany", "embedsOne", "embedsMany"]
RELATIONS += ["referencesMany", "hasmany", None]
SCALARS = [None, True, False, 0, 1, -1, 5, 1.5, 2**31, 2**63, 10**400, "", "x", "now", "true", "5"]
SCALARS += [
    "^[a-z]+$",
    "(a+)+$",
    "[",
    "2026-01-02",
    "\0",
    "\ud800",
    "é" * 300,
    [],
    {},
    ["a"],
    {"a": 1},
]

scalars = st.sampled_from(SCALARS)
junk = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(PROPERTIES), inner, max_size=2)
    ),
    max_leaves=3,
)


def sometimes(usual, other=junk):
    """Return what is usual, and now and then something else."""
    return st.integers(0, 9).flatmap(lambda number: other if number == 0 else usual)


def some(keys, **required):
    """Return objects with some of these keys."""
    return st.fixed_dictionaries(required, optional=keys)


flags = sometimes(st.booleans())
names = st.sampled_from(NAMES)
property_names = st.sampled_from(PROPERTIES) | st.sampled_from(TAKEN)
lists = sometimes(st.lists(property_names, max_size=2))
bounds = some({"min": scalars, "max": scalars, "is": scalars})
properties = sometimes(st.sampled_from(TYPES)) | some(
    {
        "required": flags,
        "default": scalars,
        "defaultFn": sometimes(st.sampled_from(["now", "guid", "uuid", "nanoid", "uuidv5"])),
        "length": scalars,
        "precision": scalars,
        "scale": scalars,
        "index": flags,
        "unique": flags,
        "id": flags,
        "hidden": flags,
        "readOnly": flags,
        "generated": flags,
        "enum": sometimes(st.lists(scalars, max_size=3)),
        "postgresql": sometimes(some({"columnName": sometimes(property_names)})),
        "validates": sometimes(
            some(
                {
                    "length": sometimes(bounds),
                    "format": scalars,
                    "in": sometimes(st.lists(scalars, max_size=2)),
                    "min": scalars,
                    "max": scalars,
                }
            )
        ),
        "requird": flags,
    },
    type=st.sampled_from(TYPES),
)
relations = some(
    {
        "foreignKey": sometimes(property_names),
        "through": sometimes(names),
        "keyThrough": sometimes(property_names),
        "property": sometimes(property_names),
        "default": junk,
        "scope": junk,
        "polymorphic": junk,
        "primaryKey": scalars,
        "options": junk,
    },
    type=st.sampled_from(RELATIONS),
    model=sometimes(names),
)
rules = some(
    {
        "accessType": sometimes(st.sampled_from(["READ", "WRITE", "EXECUTE", "*"])),
        "property": sometimes(st.sampled_from(["create", "destroyById", "findd", ["find"], "*"])),
        "model": scalars,
    },
    principalType=sometimes(st.sampled_from(["ROLE", "USER", "APP"])),
    principalId=sometimes(st.sampled_from(["$everyone", "$owner", "$authenticated", "admin", 7])),
    permission=sometimes(st.sampled_from(["ALLOW", "DENY", "ALARM", "AUDIT"])),
)


def objects(keys, values):
    """Return objects with any of these keys."""
    return sometimes(st.dictionaries(keys, sometimes(values), max_size=4))


relation_names = st.sampled_from(["owner", "books", "title", "a b", "customer", "note", *TAKEN])
times = some({"createdAt": scalars | property_names, "updatedAt": scalars | property_names})
models = some(
    {
        "plural": sometimes(st.sampled_from([*NAMES, "notes", "users", "todos"])),
        "base": sometimes(st.sampled_from([*NAMES, "PersistedModel", "Model", "AccessToken"])),
        "http": sometimes(some({"path": sometimes(st.sampled_from(["/x", "a/b", "/", "users"]))})),
        "properties": objects(property_names, properties),
        "relations": objects(relation_names, relations),
        "acls": sometimes(st.lists(sometimes(rules), max_size=3)),
        "hidden": lists,
        "protected": lists,
        "scope": sometimes(
            some({"where": junk, "limit": scalars, "order": scalars, "include": scalars})
        ),
        "strict": flags,
        "options": objects(st.sampled_from(["validateUpsert", "strict", "base"]), scalars),
        "mixins": objects(st.sampled_from(["TimeStamp", "Slug"]), times),
        "methods": objects(st.sampled_from(["star", "find"]), junk),
        "validations": junk,
        "owner": sometimes(st.sampled_from(["owner", "customer", "title"])),
        "postgresql": sometimes(some({"table": sometimes(names)})),
        "idInjection": flags,
        "excludeBaseProperties": lists,
        "propertys": junk,
    },
    name=sometimes(names),
)
configs = sometimes(
    st.dictionaries(
        names,
        sometimes(
            some({"public": flags, "dataSource": sometimes(st.sampled_from(["db", "geocoder"]))})
        ),
        max_size=3,
    )
)

# Sets of models that mostly can be served: of known names, types and kinds of relations.
MODELS = ["Author", "Book", "Link"]
KINDS = [each for each in RELATIONS if each not in ("hasmany", None)]
USABLE = ["string", "number", "integer", "boolean", "date", "dateonly", "decimal", "uuid"]
USABLE += ["objectid", "object", "array", "geopoint", ["string"], ["object"]]
VALID = ["id", "title", "ownerId", "userId", "bookId", "a", "aB", "class", "load", "note", *TAKEN]
EVERYONE = {"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}
rarely = st.integers(0, 4).map(lambda number: number == 0)
usable_properties = some(
    {
        "required": rarely,
        "hidden": rarely,
        "readOnly": rarely,
        "index": rarely,
        "unique": rarely,
        "id": rarely,
        "length": st.sampled_from([1, 20, 255]),
    },
    type=st.sampled_from(USABLE),
)
usable_relations = some(
    {
        "foreignKey": st.sampled_from(VALID),
        "through": st.sampled_from(MODELS),
        "keyThrough": st.sampled_from(VALID),
        "property": st.sampled_from(VALID),
        "default": st.sampled_from([True, {"a": 1}]),
    },
    type=st.sampled_from(KINDS),
    model=st.sampled_from([*MODELS, "User", "Todo"]),
)


def usable_models(name):
    """Return models of this name that anyone may do anything with."""
    return some(
        {
            "relations": st.dictionaries(
                st.sampled_from(["owner", "books", "links", "others", *TAKEN]),
                usable_relations,
                max_size=4,
            ),
            "mixins": st.just({"TimeStamp": True}),
            "strict": st.booleans(),
            "hidden": st.lists(st.sampled_from(VALID), max_size=2),
        },
        name=st.just(name),
        base=st.sampled_from(
            ["PersistedModel", "User"] if name == "Author" else ["PersistedModel"]
        ),
        properties=st.dictionaries(st.sampled_from(VALID), usable_properties, max_size=4),
        defaultPermission=st.just("ALLOW"),
        acls=st.just([EVERYONE]),
    )


usable_sets = st.tuples(*map(usable_models, MODELS)).map(list)
