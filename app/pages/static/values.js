// Values and their texts: the text of an input, and the value to send for it.

/** Return the text of a value in an input. */
export function textOf({ kind }, value) {
  if (value === null || value === undefined) {
    return "";
  }
  if (kind === "json") {
    return JSON.stringify(value, null, 2);
  }
  return kind === "time" ? localTime(value) : String(value);
}

/** Return the value of an entered text; throws an Error that says what is wrong with it. */
export function valueOf(property, text) {
  const { kind, isNullable, idKind } = property;
  if (text === "" && (isNullable || kind === "json")) {
    return null;
  }
  const read = READERS[kind === "reference" ? idKind : kind];
  return read ? read(text) : text;
}

const READERS = {
  integer: (text) => {
    if (!/^\s*[+-]?\d+\s*$/.test(text) || !Number.isSafeInteger(Number(text))) {
      throw new Error("must be a whole number");
    }
    return Number(text);
  },
  number: (text) => {
    if (text.trim() === "" || !Number.isFinite(Number(text))) {
      throw new Error("must be a number");
    }
    return Number(text);
  },
  boolean: (text) => text === "true",
  decimal: (text) => text.trim(),
  time: (text) => {
    const time = new Date(text);
    if (Number.isNaN(time.getTime())) {
      throw new Error("must be a date and a time");
    }
    return time.toISOString();
  },
  json: (text) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`is no JSON: ${error.message}`);
    }
  },
};

/** Return true if the entered text of a property, if any, differs from the row's value. */
export function isChanged(property, row, texts) {
  const { name } = property;
  return name in texts && texts[name] !== textOf(property, row[name]);
}

/** Return the entered values; throws an Error with `fields` if some are invalid. */
export function validValues(properties, texts) {
  const { values, problems } = valuesOf(properties, texts);
  if (Object.keys(problems).length) {
    throw Object.assign(new Error("Some values cannot be saved."), { fields: problems });
  }
  return values;
}

/** Return the entered values, and the errors of invalid ones. */
export function valuesOf(properties, texts) {
  const values = {};
  const problems = {};
  for (const property of properties) {
    try {
      values[property.name] = valueOf(property, texts[property.name]);
    } catch (error) {
      problems[property.name] = [error.message];
    }
  }
  return { values, problems };
}

/** Return a time in the format of time inputs: in the time zone of the browser. */
function localTime(value) {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) {
    return "";
  }
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60000);
  return shifted.toISOString().slice(0, -1);
}

/** Return the name of the browser's time zone. */
export function timeZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
