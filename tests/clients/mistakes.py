"""Uses of the library's client that must not compile, each with the error that is expected."""

from typing import NamedTuple

PROGRAM = """\
import {{ ApiError, createClient, result }} from "../clients/library.js";
const api = createClient({{ baseUrl: "/api" }});
{code}
void [ApiError, api, result];
export {{}};
"""


class Mistake(NamedTuple):
    """A line of code, and a part of the compiler's message."""

    name: str
    code: str
    message: str

    @property
    def program(self) -> str:
        """The file to compile."""
        return PROGRAM.format(code=self.code)


MISTAKES = [
    Mistake(
        "property_in_where",
        'await api.books.find({ where: { title: "a", titel: "b" } });',
        "'titel' does not exist in type",
    ),
    Mistake(
        "operator",
        'await api.books.find({ where: { title: { lik: "a" } } });',
        "'lik' does not exist in type",
    ),
    Mistake(
        "operator_of_texts_for_a_number",
        'await api.books.find({ where: { stars: { like: "a" } } });',
        "'like' does not exist in type",
    ),
    Mistake(
        "type_of_an_operand",
        "await api.books.find({ where: { stars: { gt: '3' } } });",
        "Type 'string' is not assignable to type 'number'",
    ),
    Mistake(
        "value_of_an_enumeration",
        'await api.books.find({ where: { binding: "leather" } });',
        """Type '"leather"' is not assignable""",
    ),
    Mistake(
        "related_property",
        'await api.books.find({ where: { author: { nam: "a" } } });',
        "'nam' does not exist in type",
    ),
    Mistake(
        "quantifier_of_a_relation_to_one",
        "await api.books.find({ where: { author: { some: {} } } });",
        "'some' does not exist in type",
    ),
    Mistake(
        "include",
        'await api.books.find({ include: ["autor"] });',
        """Type '"autor"' is not assignable""",
    ),
    Mistake(
        "condition_in_a_scope",
        "await api.books.find("
        '{ include: [{ relation: "author", scope: { where: { nam: 1 } } }] });',
        "'nam' does not exist in type 'Where<AuthorModel>'",
    ),
    Mistake(
        "condition_in_a_scope_beside_a_right_one",
        "await api.books.find("
        '{ include: [{ relation: "author", scope: { where: { name: "a", nam: 1 } } }] });',
        "Type '1' is not assignable to type '1 & NoSuchName'",
    ),
    Mistake(
        "key_of_a_scope_within_a_scope",
        'await api.authors.find({ include: [{ relation: "books", scope: { include: ['
        '{ relation: "author", scope: { limt: 1, skip: 0 } }] } }] });',
        "Type '1' is not assignable to type '1 & NoSuchName'",
    ),
    Mistake(
        "key_of_an_include",
        'await api.books.find({ include: [{ relation: "author", scop: 1 }] });',
        "Type '1' is not assignable to type '1 & NoSuchName'",
    ),
    Mistake(
        "fields",
        'await api.books.find({ fields: ["titel"] });',
        """Type '"titel"' is not assignable""",
    ),
    Mistake(
        "order",
        'await api.books.find({ order: "titel DESC" });',
        """Type '"titel DESC"' is not assignable""",
    ),
    Mistake(
        "order_by_an_object",
        'await api.books.find({ order: "details" });',
        """Type '"details"' is not assignable""",
    ),
    Mistake(
        "order_by_a_relation_to_many",
        'await api.books.find({ order: "topics.name" });',
        """Type '"topics.name"' is not assignable""",
    ),
    Mistake(
        "key_of_a_filter",
        "await api.books.find({ limits: 3, skip: 1 });",
        "'limits' does not exist in type",
    ),
    Mistake(
        "reading_what_fields_left_out",
        'const [book] = await api.books.find({ fields: ["id"] }); book!.title;',
        "Property 'title' does not exist on type '{ id: string; }'",
    ),
    Mistake(
        "reading_what_fields_excluded",
        "const [book] = await api.books.find({ fields: { title: false } }); book!.title;",
        "Property 'title' does not exist on type",
    ),
    Mistake(
        "reading_what_is_not_included",
        'const [book] = await api.books.find({ include: ["author"] }); book!.topics;',
        "Property 'topics' does not exist on type",
    ),
    Mistake(
        "an_included_row_that_may_be_missing",
        'const [book] = await api.books.find({ include: ["author"] }); book!.author.name;',
        "Object is possibly 'undefined'",
    ),
    Mistake(
        "reading_what_a_scope_left_out",
        'const [book] = await api.books.find({ include: [{ relation: "author", scope: '
        '{ fields: ["name"] } }] }); book!.author?.born;',
        "Property 'born' does not exist on type '{ name: string; }'",
    ),
    Mistake(
        "sum_of_a_text",
        'await api.books.aggregate({ aggregate: { n: { sum: "title" } } });',
        """Type '"title"' is not assignable""",
    ),
    Mistake(
        "group_by_an_object",
        'await api.books.aggregate({ groupBy: "details", aggregate: { n: { count: "*" } } });',
        """Type '"details"' is not assignable""",
    ),
    Mistake(
        "hour_of_a_date",
        'await api.books.aggregate({ groupBy: { released: "hour" }, aggregate: {} });',
        """Type '"hour"' is not assignable""",
    ),
    Mistake(
        "reading_a_function_that_was_not_computed",
        'const [g] = await api.books.aggregate({ aggregate: { n: { count: "*" } } }); g!.sum;',
        "Property 'sum' does not exist on type '{ n: number; }'",
    ),
    Mistake(
        "missing_property",
        'await api.authors.create({ born: "2026-01-01" });',
        "Property 'name' is missing in type",
    ),
    Mistake(
        "read_only_property",
        'await api.authors.update("1", { id: "2" });',
        "'id' does not exist in type",
    ),
    Mistake(
        "type_of_an_id",
        "await api.books.findById(1);",
        "Argument of type 'number' is not assignable to parameter of type 'string'",
    ),
    Mistake(
        "undefined_with_exact_optional_properties",
        "await api.books.find({ limit: undefined });",
        "'exactOptionalPropertyTypes: true'",
    ),
    Mistake(
        "creating_through_a_belongs_to",
        'await api.books.author("1").create({ name: "a" });',
        "Property 'create' does not exist on type",
    ),
    Mistake(
        "reference_to_an_unknown_property",
        'await api.batch((calls) => { const a = calls.authors.create({ name: "a" });'
        ' return [a, calls.books.count({ title: result(a, "nam") })]; });',
        """Argument of type '"nam"' is not assignable""",
    ),
    Mistake(
        "type_of_an_answer_in_a_batch",
        "const [n] = await api.batch((calls) => [calls.books.count()]); n.title;",
        "Property 'title' does not exist on type 'number'",
    ),
    Mistake(
        "code_of_an_error",
        'const error = new ApiError(0, "TIMEOUT", ""); error.code === "TIME_OUT";',
        "have no overlap",
    ),
    Mistake(
        "details_of_another_code",
        'const error = new ApiError(0, "TIMEOUT", "");'
        ' if (error.has("VALIDATION_ERROR")) error.details.ticket;',
        "Property 'ticket' does not exist on type",
    ),
    Mistake("unknown_collection", "await api.bokks.find();", "Property 'bokks' does not exist"),
]
