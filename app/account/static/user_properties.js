// The properties that a project has declared for its users, from the OpenAPI document.

import { hintOf, kindOf } from "../../ostiary/static/kinds.js";
import { page } from "../../ostiary/static/page.js";
import { inWords } from "../../ostiary/static/words.js";

const BUILT_IN = ["realm", "email", "password"];

/** Return the properties of a user, without those that are only written. */
export async function readProperties() {
  const document = await readDocument();
  const { get, patch } = document.paths[`/${page.users}/{id}`];
  const { properties: shown } = schemaOf(document, get.responses["200"]);
  const { properties: written = {} } = patch ? schemaOf(document, patch.requestBody) : {};
  return page.userProperties
    .filter((name) => name in shown)
    .map((name) => propertyOf(name, resolved(document, written[name] ?? shown[name]), name in written));
}

/** Return the properties that a registration requires, besides those of every user. */
export async function readRequired() {
  const document = await readDocument();
  const { post } = document.paths[`/${page.users}`];
  const { properties, required } = schemaOf(document, post.requestBody);
  return Object.keys(properties)
    .filter((name) => required.includes(name) && !BUILT_IN.includes(name))
    .map((name) => propertyOf(name, resolved(document, properties[name]), true));
}

async function readDocument() {
  const response = await fetch(page.document).catch(() => null);
  if (!response?.ok) {
    throw new Error("The service does not answer: try again.");
  }
  return response.json();
}

/** Return the schema of a body or a response; that of one object, if several are allowed, too. */
function schemaOf(document, { content }) {
  const { schema } = content["application/json"];
  return resolved(document, schema.anyOf?.[0] ?? schema);
}

/** Return a schema in place of a reference to it. */
function resolved(document, { $ref, ...schema }) {
  return $ref ? { ...document.components.schemas[$ref.split("/").at(-1)], ...schema } : schema;
}

function propertyOf(name, schema, isWritable) {
  const isNullable = !schema.type || [schema.type].flat().includes("null");
  const property = { name, label: inWords(name), schema, kind: kindOf(schema), isNullable, isWritable };
  return { ...property, hint: hintFor(schema.description ?? "", isWritable ? hintOf(property, true) : "") };
}

/** Return the help of a property: its description, and the limits of its values. */
function hintFor(description, limits) {
  return description && limits ? `${description} (${limits})` : description || limits;
}
