// The properties of a model, from its JSON schema: the kinds of their values, and their limits.

const LONG_TEXT = 255;

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

/** Return the kind of the values of a JSON schema. */
export function kindOf(schema) {
  const [type, ...others] = [schema.type].flat().filter((name) => name !== "null");
  if (schema.enum) {
    return "choice";
  }
  if (others.length || !["string", "integer", "number", "boolean"].includes(type)) {
    return "json";
  }
  return type === "string" ? textKind(schema) : type;
}

function textKind({ format, maxLength }) {
  const kind = { "date-time": "time", date: "date", decimal: "decimal", password: "password" }[format];
  return kind ?? (maxLength > LONG_TEXT ? "longText" : "text");
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
  return isReadable && !["json", "password"].includes(kind);
}

/** Return a description of a property's values, for people. */
export function hintOf({ kind, schema, isNullable, hint }, isNew = false) {
  if (hint) {
    return hint;
  }
  const { minimum, maximum, minLength, maxLength } = schema;
  const hints = [];
  if (["integer", "number"].includes(kind)) {
    hints.push(range(exact(minimum), exact(maximum)));
  }
  if (["text", "longText", "password"].includes(kind) && maxLength) {
    hints.push(minLength ? `${minLength} to ${maxLength} characters` : `at most ${maxLength} characters`);
  }
  if (kind === "decimal") {
    hints.push(decimals(schema.pattern));
  }
  if (kind === "json") {
    hints.push(jsonHint(schema));
  }
  if (isNullable && !isNew && kind !== "boolean" && kind !== "choice") {
    hints.push("left empty, it is null");
  }
  return hints.filter(Boolean).join("; ");
}

/** Return a limit; undefined if it has been rounded, as those of 64 bits are. */
function exact(bound) {
  return Number.isInteger(bound) && !Number.isSafeInteger(bound) ? undefined : bound;
}

function range(minimum, maximum) {
  if ((minimum ?? maximum) === undefined) {
    return "";
  }
  if (maximum === undefined) {
    return `at least ${minimum}`;
  }
  return minimum === undefined ? `at most ${maximum}` : `${minimum} to ${maximum}`;
}

function decimals(pattern) {
  const [, before, after] = /\{1,(\d+)\}.*?\{1,(\d+)\}/.exec(pattern ?? "") ?? [];
  return before ? `at most ${before} digits before the point and ${after} after it` : "a decimal";
}

function jsonHint({ type, items }) {
  const [name] = [type].flat().filter((each) => each !== "null");
  const kinds = { object: "an object of JSON", array: `an array of JSON${items?.type ? ` with ${items.type}s` : ""}` };
  return kinds[name] ?? "a value of JSON";
}
