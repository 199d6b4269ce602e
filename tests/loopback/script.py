"""What clients of the application call: first to fill it, and then, with the same tokens, again.

In paths and bodies, `{name}` is the id of what a call with `keep="name"` has created or found.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A request, such as `GET /Tools`; by whom, and the name under which its id is kept."""

    request: str
    body: Any = None
    by: str | None = None
    keep: str | None = None
    # A text file to upload: its name and what is in it.
    file: tuple[str, str] | None = None

    @property
    def method(self) -> str:
        return self.request.split(" ", 1)[0]

    @property
    def path(self) -> str:
        return self.request.split(" ", 1)[1]


ADA = {"email": "ada@example.com", "password": "a sharp chisel"}
GRACE = {"email": "Grace@Example.com", "password": "a long ladder"}
MARY = {"email": "mary@example.com", "password": "an even longer ladder"}
LIBRARIAN = {"email": "librarian@example.com", "password": "a quiet shelf"}
NORTH = {
    "code": "north",
    "name": "Northern hall",
    "position": {"lat": 52.5, "lng": 13.4},
    "machines": ["lathe", "band saw"],
    "hours": {"monday": {"from": 9, "to": 18}, "notes": "closed in August"},
}
SAW = {"name": "Saw", "weight": 1500, "tags": ["wood", "hand"], "workshopCode": "north"}
DRILL = {"name": "Drill", "description": "with bits", "state": "worn", "weight": 2000}

# How the application got its data. `members/login` keeps the token.
SETUP = [
    Call(
        "POST /Members", {**ADA, "name": "Ada", "phone": "030 123", "newsletter": True}, keep="ada"
    ),
    Call("POST /Members", {**GRACE, "name": "Grace", "joined": "2019-05-04"}, keep="grace"),
    Call("POST /Members/login", ADA, keep="token of ada"),
    Call("POST /Members/login", {**GRACE, "ttl": 86400}, keep="token of grace"),
    Call("POST /Members/login", LIBRARIAN, keep="token of librarian"),
    Call("GET /Categories?filter[where][name]=Wood", keep="wood"),
    Call("GET /Categories?filter[where][name]=Garden", keep="garden"),
    Call("POST /Workshops", NORTH, by="librarian"),
    Call("POST /Workshops", {"code": "S/2", "name": "Southern hall"}, by="librarian"),
    Call("POST /Tools", SAW, by="ada", keep="saw"),
    Call("POST /Tools", DRILL, by="ada", keep="drill"),
    Call("POST /Tools", {"name": "Spade", "tags": []}, by="grace", keep="spade"),
    Call("PUT /Tools/{saw}/categories/rel/{wood}", by="ada"),
    Call("PUT /Tools/{drill}/categories/rel/{wood}", by="ada"),
    Call("PUT /Tools/{spade}/categories/rel/{garden}", by="grace"),
    Call("POST /Tools/{saw}/manual", {"title": "Sawing", "pages": 12}, by="ada", keep="manual"),
    Call("POST /Tools/{saw}/remarks", {"text": "Blunt"}, by="ada", keep="blunt"),
    Call("POST /Tools/{saw}/pictures", {"file": "saw.png"}, by="ada", keep="picture"),
    Call(
        "POST /Pictures",
        {"file": "ada.png", "subjectId": "{ada}", "subjectType": "Member"},
        by="ada",
    ),
    Call("POST /Tools/{saw}/lend", {"days": 7}, by="grace", keep="loan"),
    Call("POST /Tools/{spade}/lend", {"days": 1}, by="ada"),
    Call("POST /Tools/{spade}/giveBack", by="ada"),
    Call("POST /Containers", {"name": "manuals"}, by="librarian"),
    Call("POST /Containers/manuals/upload", by="ada", file=("saw.txt", "Saw slowly.\n")),
]

# What is compared.
CALLS = [
    # Members
    Call("GET /Members/{ada}", by="ada"),
    Call("GET /Members/{ada}", by="grace"),
    Call("GET /Members/{ada}"),
    Call("GET /Members/{grace}", by="librarian"),
    Call("GET /Members?filter[order]=name&filter[fields][name]=true", by="librarian"),
    Call("GET /Members", by="ada"),
    Call("GET /Members/count", by="librarian"),
    Call('GET /Members/count?where={"newsletter":true}', by="librarian"),
    Call("GET /Members/{ada}/tools?filter[order]=name", by="ada"),
    Call("GET /Members/{ada}/tools", by="grace"),
    Call("GET /Members/{grace}/loans", by="grace"),
    Call("GET /Members/{grace}/roles", by="grace"),
    Call("POST /Members/login", {"email": "ada@example.com", "password": "wrong"}),
    Call("POST /Members/login", {"password": "a sharp chisel"}),
    Call("POST /Members/login", GRACE, keep="another token of grace"),
    Call("POST /Members/login?include=user", ADA, keep="another token of ada"),
    Call("POST /Members", {**MARY, "name": "Mary"}, keep="mary"),
    Call("POST /Members", {**MARY, "name": "Mary"}),
    Call("POST /Members", {"email": "nan@example.com", "password": "a quiet chisel"}),
    Call("POST /Members", {"email": "no address", "password": "a quiet chisel", "name": "Nan"}),
    Call("POST /Members/login", MARY, keep="token of mary"),
    Call("PATCH /Members/{ada}", {"phone": "030 456"}, by="ada"),
    Call("PATCH /Members/{ada}", {"name": "A"}, by="ada"),
    Call("PATCH /Members/{ada}", {"phone": "1"}, by="grace"),
    Call("GET /Members/{ada}/exists", by="ada"),
    Call("POST /Members/upsertWithWhere", {"name": "Eve"}, by="librarian"),
    # Categories: validations, roles
    Call("GET /Categories"),
    Call("GET /Categories/{wood}"),
    Call("GET /Categories/{wood}/tools?filter[order]=name"),
    Call("POST /Categories", {"name": "Paint"}, by="ada"),
    Call("POST /Categories", {"name": "Paint"}),
    Call("POST /Categories", {"name": "Paint"}, by="librarian", keep="paint"),
    Call("POST /Categories", {"name": "Paint"}, by="librarian"),
    Call("POST /Categories", {}, by="librarian"),
    Call("DELETE /Categories/{paint}", by="librarian"),
    # Workshops: text ids, positions, objects, a data source
    Call("GET /Workshops/north"),
    Call("GET /Workshops/S%2F2"),
    Call("GET /Workshops/west"),
    Call("GET /Workshops?filter[where][position][near]=52.4,13.4"),
    Call("GET /Workshops/north/tools"),
    Call("GET /Workshops/locate?address=Elm%20Street"),
    Call("GET /Workshops/locate"),
    Call("PUT /Workshops/north", {"code": "north", "name": "Hall of the North"}, by="librarian"),
    # Tools: filters, relations, hooks, validations
    Call("GET /Tools?filter[order]=name DESC"),
    Call('GET /Tools?filter={"where":{"name":{"like":"S%25"}},"order":"name"}'),
    Call('GET /Tools?filter={"where":{"or":[{"state":"worn"},{"weight":1500}]},"order":"name"}'),
    Call('GET /Tools?filter={"where":{"weight":{"between":[1,2000]}},"order":"name","skip":1}'),
    Call('GET /Tools?filter={"where":{"name":{"inq":["Saw","Axe"]}},"fields":["name"]}'),
    Call('GET /Tools?filter={"where":{"name":{"regexp":"/^s/i"}},"order":"name"}'),
    Call('GET /Tools?filter={"where":{"workshopCode":null},"order":"name"}'),
    Call("GET /Tools/findOne?filter[where][name]=Saw"),
    Call("GET /Tools/findOne?filter[where][name]=Anvil"),
    Call("GET /Tools/count?where[state]=good"),
    Call('GET /Tools?filter={"include":["categories","manual","workshop"],"order":"name"}'),
    Call('GET /Tools/{saw}?filter={"include":"pictures"}'),
    Call("GET /Tools/{saw}"),
    Call("GET /Tools/{saw}/exists"),
    Call("GET /Tools/999999999999999999999999"),
    Call("GET /Tools/{saw}/manual"),
    Call("GET /Tools/{saw}/workshop"),
    Call("GET /Tools/{drill}/workshop"),
    Call("GET /Tools/{saw}/categories"),
    Call("GET /Tools/{saw}/categories/count"),
    Call("GET /Tools/{saw}/loans"),
    Call("GET /Tools/{saw}/remarks"),
    Call("GET /Tools/{saw}/pictures"),
    Call("DELETE /Tools/{saw}/loans", by="ada"),
    Call("POST /Tools", {"name": "Plane"}),
    Call(
        "POST /Tools", {"name": "Plane", "weight": 750, "tags": ["wood"]}, by="grace", keep="plane"
    ),
    Call("POST /Tools", {"name": "Plane", "state": "lost"}, by="grace"),
    Call("POST /Tools", {"state": "good"}, by="grace"),
    Call("PATCH /Tools/{plane}", {"state": "worn"}, by="grace"),
    Call("PATCH /Tools/{plane}", {"state": "worn"}, by="ada"),
    Call("PUT /Tools/{plane}", {"name": "Jack plane", "ownerId": "{grace}"}, by="grace"),
    Call("PUT /Tools/{plane}/categories/rel/{wood}", by="grace"),
    Call("HEAD /Tools/{plane}/categories/rel/{wood}", by="grace"),
    Call("DELETE /Tools/{plane}/categories/rel/{wood}", by="grace"),
    Call("DELETE /Tools/{plane}", by="ada"),
    Call("DELETE /Tools/{plane}", by="grace"),
    # Remote methods, a role that a function decides
    Call("GET /Tools/statistics"),
    Call("POST /Tools/{saw}/lend", {"days": 2}, by="ada"),
    Call("POST /Tools/{drill}/lend", {"days": 2}),
    Call("POST /Tools/{drill}/lend", {}, by="grace"),
    Call("POST /Tools/{drill}/lend", {"days": 2}, by="mary", keep="second loan"),
    Call("POST /Tools/{drill}/giveBack", by="grace"),
    Call("POST /Tools/{drill}/giveBack", by="mary"),
    Call("GET /Tools/statistics"),
    # Loans: owners
    Call("GET /Loans/{loan}", by="grace"),
    Call("GET /Loans/{loan}", by="ada"),
    Call("GET /Loans/{loan}"),
    Call('GET /Loans?filter={"include":["tool","member"],"order":"days"}', by="librarian"),
    # A model without rules
    Call("GET /Manuals"),
    Call("GET /Manuals/{manual}/tool"),
    Call(
        "POST /Manuals", {"title": "Drilling", "pages": "20", "toolId": "{drill}"}, keep="drilling"
    ),
    # Polymorphic
    Call("GET /Pictures/{picture}"),
    Call('GET /Pictures?filter={"include":"subject","order":"file"}', by="ada"),
    Call("GET /Pictures/{picture}/subject"),
    # Files
    Call("GET /Containers"),
    Call("GET /Containers/manuals/files"),
    Call("GET /Containers/manuals/files/saw.txt"),
    Call("GET /Containers/manuals/download/saw.txt"),
    Call("GET /Containers/manuals/download/axe.txt"),
    Call("POST /Containers/manuals/upload", file=("axe.txt", "Hew.\n")),
    Call("POST /Containers/manuals/upload", by="grace", file=("axe.txt", "Hew.\n")),
    Call("DELETE /Containers/manuals/files/axe.txt", by="grace"),
    Call("DELETE /Containers/manuals/files/axe.txt", by="librarian"),
    # Paths that do not exist, and the end of a session
    Call("GET /Tools/change-stream"),
    Call("GET /Nothing"),
    Call("POST /Members/logout", by="grace"),
    Call("GET /Members/{grace}", by="grace"),
]
