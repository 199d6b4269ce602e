// The kinds of properties' values, from their JSON schemas, and their limits in words.

const LONG_TEXT = 255;

/** Return the kind of the values of a JSON schema. */
export function kindOf(schema) {
  const [type, ...others] = [schema.type].flat().filter((name) => name !== "null");
  if (schema.enum) {
    return "choice";
  }
  if (schema.properties?.url?.format === "uri-reference") {
    return "file";
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

/** Return a description of a property's values, for people. */
export function hintOf({ kind, schema, isNullable, hint }, isNew = false) {
  if (hint !== undefined) {
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
