// The inputs of properties, by the kind of their values.

import { hintOf } from "./kinds.js";
import { Field } from "./parts.js";
import { timeZone, valueOf } from "./values.js";
import { html } from "./view.js";

/**
 * The field of a property: its label, input, hint, and error.
 *
 * `text` is the entered text; without it a new row gets the default. `onText` gets the new text.
 * `inputs` are further inputs by kind.
 */
export function PropertyField({ property, text, isNew, problem, onText, inputs }) {
  const { name, label = name, isRequired, kind } = property;
  const hints = [isNew && isRequired && "required", isNew && defaultHint(property), hintOf(property, isNew), kind === "time" && zoneHint(text)];
  const Input = inputs?.[kind] ?? INPUTS[kind] ?? TextInput;
  return html`<${Field} label=${label} name=${name} hint=${hints.filter(Boolean).join("; ")} problem=${problem}>
    ${(shared) => html`<${Input} ...${{ shared, property, text, isNew, onText }} />`}
  <//>`;
}

function TextInput({ shared, property, text = "", onText }) {
  const { type = "text", mode } = SIMPLE[property.kind] ?? {};
  const { maxLength } = property.schema;
  const step = type === "datetime-local" ? "any" : undefined;
  return html`<input ...${shared} type=${type} step=${step} inputmode=${mode} maxlength=${maxLength} autocomplete=${type === "password" ? "new-password" : "off"} value=${text} onInput=${(event) => onText(event.target.value)} />`;
}

const SIMPLE = {
  integer: { mode: "numeric" },
  number: { mode: "decimal" },
  decimal: { mode: "decimal" },
  time: { type: "datetime-local" },
  date: { type: "date" },
  password: { type: "password" },
};

function Area({ shared, text = "", onText, className, rows = 4 }) {
  return html`<textarea ...${shared} class=${className} rows=${rows} spellcheck=${false} value=${text} onInput=${(event) => onText(event.target.value)}></textarea>`;
}

function JsonInput(properties) {
  const rows = Math.min(16, Math.max(2, (properties.text ?? "").split("\n").length + 1));
  return html`<${Area} ...${properties} className="code" rows=${rows} />`;
}

function Choice({ shared, property, text, isNew, onText }) {
  const options = property.kind === "boolean" ? ["true", "false"] : property.schema.enum.filter((each) => each !== null);
  const words = { true: "yes", false: "no" };
  // Without a choice: the default of a new row, or null.
  const { usual } = property;
  const named = usual === undefined || usual === null ? "(the default)" : `(the default: ${words[usual] ?? usual})`;
  const none = isNew ? named : "(none)";
  const hasNone = property.isNullable || (isNew && !property.isRequired);
  return html`<select ...${shared} value=${text ?? ""} onChange=${(event) => onText(event.target.value)}>
    ${(hasNone || !text) && html`<option value="">${hasNone ? none : "(choose)"}</option>`}
    ${options.map((each) => html`<option key=${each} value=${each}>${property.kind === "boolean" ? words[each] : each}</option>`)}
  </select>`;
}

const INPUTS = { longText: Area, json: JsonInput, choice: Choice, boolean: Choice };

/** What a new row gets that does not set the property, where its input does not say so. */
function defaultHint({ kind, usual }) {
  const isShown = usual !== undefined && usual !== null && usual !== "" && !["choice", "boolean"].includes(kind);
  return isShown && `by default ${typeof usual === "string" ? usual : JSON.stringify(usual)}`;
}

function zoneHint(text) {
  try {
    return text ? `${timeZone()}, in UTC ${valueOf({ kind: "time" }, text)}` : timeZone();
  } catch {
    return timeZone();
  }
}
