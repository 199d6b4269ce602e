// The properties of a model, from its JSON schema.

import { kindOf } from "../../ostiary/static/kinds.js";

/**
 * Return the properties of a model, in the order of its schema.
 *
 * Each has `name`, `kind`, `schema`, `isNullable`, `isWritable`, `isRequired` and `usual` (in a
 * new row: whether a value is required, and the default), and `target`, the model of the row that a reference leads to, with the `relation`. Forms may give it
 * a `label`, a `hint`, and the name of another one that it is `neededFor`.
 */
export function propertiesOf(model) {
  const { properties: known = {} } = model.schema ?? {};
  const { properties: written = {}, required = [] } = model.createSchema ?? {};
  const names = [...new Set([...Object.keys(known), ...Object.keys(written)])];
  return names.map((name) => {
    const schema = known[name] ?? written[name];
    const relation = model.relations.find(
      ({ type, foreignKey, model: target }) => type === "belongsTo" && foreignKey === name && target,
    );
    return {
      name,
      schema,
      kind: relation ? "reference" : kindOf(schema),
      relation: relation?.name,
      target: relation?.model,
      idKind: kindOf(schema),
      isNullable: [schema.type].flat().includes("null") || !schema.type,
      isReadable: name in known,
      isWritable: name in written && !known[name]?.readOnly,
      isCreated: name in written,
      isRequired: required.includes(name),
      usual: written[name]?.default,
    };
  });
}

/** Return true if texts of a property can be searched. */
export function isSearchable({ kind, schema, isReadable }) {
  return isReadable && ["text", "longText"].includes(kind) && schema.format !== "uuid";
}

/** Return the names of the properties that identify rows of a model for people, if it has any. */
export function labelsOf(model) {
  const texts = propertiesOf(model).filter((property) => isSearchable(property) && property.isReadable);
  const named = texts.find(({ name }) => /^(email|name|title|label|username)$/i.test(name));
  return [named ?? texts[0]].filter(Boolean).map(({ name }) => name);
}

/** Return true if a list can be ordered by a property. */
export function isOrderable({ kind, isReadable }) {
  return isReadable && !["json", "file", "password"].includes(kind);
}
