"""Models in JSON of a library: each shows some of what LoopBack 3's files may say."""


def rule(principal, permission="ALLOW", **more):
    return {
        "principalType": "ROLE",
        "principalId": principal,
        "permission": permission,
        **more,
    }


OPEN = [rule("$authenticated")]
OWNED = [rule("$authenticated", property="create"), rule("$owner"), rule("admin")]

BOOK = {
    "name": "Book",
    "base": "PersistedModel",
    "properties": {
        "title": {"type": "String", "required": True, "length": 100},
        "pages": {"type": "integer", "default": 1, "validates": {"min": 1, "max": 5000}},
        "rating": "number",
        "isLent": {"type": "boolean", "default": False},
        "boughtAt": {"type": "date", "defaultFn": "now"},
        "printedOn": "dateonly",
        "price": {"type": "decimal", "precision": 8, "scale": 2},
        "code": {"type": "uuid", "defaultFn": "uuidv4"},
        "mongoRef": "objectid",
        "kind": {"type": "string", "enum": ["novel", "poems"], "default": "novel"},
        "extra": "object",
        "tags": ["string"],
        "copies": ["object"],
        "place": "geopoint",
        "isbn": {"type": "string", "index": {"unique": True}},
        "shelfMark": {
            "type": "string",
            "length": 10,
            "validates": {"format": "^[A-Z]{2}-[0-9]+$", "length": {"min": 4}},
        },
    },
    "relations": {
        "author": {"type": "belongsTo", "model": "Person", "foreignKey": "authorId"},
        "shelves": {"type": "hasAndBelongsToMany", "model": "shelf"},
        "readers": {"type": "hasMany", "model": "Person", "through": "Loan"},
    },
    "acls": OPEN,
}
PERSON = {
    "name": "Person",
    "properties": {"name": {"type": "string", "required": True}},
    "relations": {
        "books": {"type": "hasMany", "model": "Book", "foreignKey": "authorId"},
        "card": {"type": "hasOne", "model": "Card"},
    },
    "acls": OPEN,
}
CARD = {"name": "Card", "properties": {"number": "string"}, "acls": OPEN}
SHELF = {
    "name": "shelf",
    "properties": {"name": "string"},
    "relations": {"books": {"type": "hasAndBelongsToMany", "model": "Book"}},
    "acls": OPEN,
}
LOAN = {
    "name": "Loan",
    "properties": {"until": "dateonly"},
    "relations": {
        "book": {"type": "belongsTo", "model": "Book"},
        "reader": {"type": "belongsTo", "model": "Person"},
    },
    "acls": OPEN,
}
LIBRARY = {"book": BOOK, "person": PERSON, "card": CARD, "shelf": SHELF, "loan": LOAN}
NOTE = {
    "name": "Note",
    "properties": {"text": "string"},
    "relations": {"author": {"type": "belongsTo", "model": "User", "foreignKey": "userId"}},
    "acls": OWNED,
}
