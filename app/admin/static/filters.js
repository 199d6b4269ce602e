// The conditions of a list: the current ones, and the form that adds one.

import { Dialog, Field, Form } from "../../ostiary/static/parts.js";
import { valueOf } from "../../ostiary/static/values.js";
import { html, useState } from "../../ostiary/static/view.js";

const COMPARED = [
  ["eq", "is"],
  ["neq", "is not"],
];
const ORDERED = [...COMPARED, ["gt", "is greater than"], ["gte", "is at least"], ["lt", "is less than"], ["lte", "is at most"]];
const TIMES = [["gte", "from"], ["lt", "before"], ...COMPARED];
const TEXTS = [["ilike", "contains"], ["nilike", "does not contain"], ...ORDERED];
// The operators for properties, by their kind.
const OPERATORS = {
  text: TEXTS,
  longText: TEXTS,
  choice: COMPARED,
  boolean: COMPARED,
  json: [],
  integer: ORDERED,
  number: ORDERED,
  decimal: ORDERED,
  date: TIMES,
  time: TIMES,
  reference: COMPARED,
};
const EMPTY = [
  ["none", "is not set"],
  ["some", "is set"],
];
// The property that stands for a condition in JSON.
const AS_JSON = "";

/**
 * The conditions, each with a button that removes it, and a button that adds one.
 *
 * Properties of related rows have a `path`: the relation, and their name in these rows.
 */
export function Filters({ properties, conditions, onChange }) {
  const [isOpen, setOpen] = useState(false);
  const relations = new Set(properties.filter(({ path }) => path).map(({ path }) => path[0]));
  const words = (condition) => inWords(condition, relations);
  const add = (condition) => {
    onChange([...conditions, condition]);
    setOpen(false);
  };
  return html`
    ${conditions.map(
      (condition, place) => html`<span class="chip" key=${JSON.stringify(condition)}>
        ${words(condition)}
        <button type="button" aria-label=${`Remove the filter ${words(condition)}`} onClick=${() => onChange(conditions.filter((_, other) => other !== place))}>×</button>
      </span>`,
    )}
    <button type="button" onClick=${() => setOpen(true)}>Filter</button>
    ${isOpen && html`<${FilterDialog} properties=${properties} onAdd=${add} onClose=${() => setOpen(false)} />`}
  `;
}

function FilterDialog({ properties, onAdd, onClose }) {
  const known = properties.filter(({ isReadable, kind }) => isReadable && OPERATORS[kind]);
  const [name, setName] = useState(known[0]?.name ?? AS_JSON);
  const property = known.find((each) => each.name === name);
  const operators = property ? [...OPERATORS[property.kind], ...(property.isNullable ? EMPTY : [])] : [];
  const [operator, setOperator] = useState("");
  const chosen = operators.find(([each]) => each === operator) ?? operators[0];
  const send = async ({ value }) => onAdd(conditionOf(property, chosen?.[0], value));
  const cancel = html`<button type="button" onClick=${onClose}>Cancel</button>`;
  return html`<${Dialog} title="Filter" onClose=${onClose}>
    <${Form} label="Filter" submit="Add the filter" onSubmit=${send} fields=${["value"]} actions=${cancel}>
      ${(problem) => html`
        <${Field} label="Property" name="property">
          ${(shared) => html`<select ...${shared} value=${name} onChange=${(event) => setName(event.target.value)}>
            ${known.map((each) => html`<option key=${each.name}>${each.name}</option>`)}
            <option value=${AS_JSON}>(a condition in JSON)</option>
          </select>`}
        <//>
        ${property && operators.length > 0 && html`<${Field} label="Condition" name="operator">
          ${(shared) => html`<select ...${shared} value=${chosen?.[0]} onChange=${(event) => setOperator(event.target.value)}>
            ${operators.map(([each, text]) => html`<option key=${each} value=${each}>${text}</option>`)}
          </select>`}
        <//>`}
        ${(!property || !EMPTY.includes(chosen)) && html`<${Operand} property=${property} problem=${problem} />`}
      `}
    <//>
  <//>`;
}

function Operand({ property, problem }) {
  const options = property?.kind === "boolean" ? ["true", "false"] : property?.schema.enum;
  if (!property) {
    const hint = `As in the filters of the API, such as {"or": [{"a": 1}, {"b": {"gt": 2}}]}`;
    return html`<${Field} label="Condition" name="value" hint=${hint} problem=${problem} key="json">
      ${(shared) => html`<textarea ...${shared} class="code" rows="4" spellcheck=${false}></textarea>`}
    <//>`;
  }
  if (options) {
    return html`<${Field} label="Value" name="value" problem=${problem} key=${property.name}>
      ${(shared) => html`<select ...${shared}>${options.filter((each) => each !== null).map((each) => html`<option key=${each}>${each}</option>`)}</select>`}
    <//>`;
  }
  const type = { time: "datetime-local", date: "date" }[property.kind] ?? "text";
  return html`<${Field} label="Value" name="value" type=${type} step=${property.kind === "time" ? "any" : undefined} required autocomplete="off" problem=${problem} key=${property.name} />`;
}

/** Return the condition entered in the form; throws errors that the form shows at their fields. */
function conditionOf(property, operator, text) {
  try {
    if (!property) {
      return valueOf({ kind: "json" }, text) ?? {};
    }
    const { name, path = [name] } = property;
    return path.reduceRight((inner, step) => ({ [step]: inner }), comparisonOf(property, operator, text));
  } catch (error) {
    throw Object.assign(error, { fields: { value: [error.message] } });
  }
}

/** Return a comparison with the entered text, without the property. */
function comparisonOf(property, operator, text) {
  if (operator === "none" || operator === "some") {
    return operator === "none" ? null : { neq: null };
  }
  if (operator.endsWith("like")) {
    return { [operator]: `%${text.replace(/[\\%_]/g, "\\$&")}%` };
  }
  const value = valueOf({ ...property, isNullable: false }, text);
  return operator === "eq" ? value : { [operator]: value };
}

const WORDS = Object.fromEntries([...TEXTS, ...TIMES.slice(0, 2), ["gt", "is greater than"]]);

function inWords(condition, relations) {
  const entries = Object.entries(condition);
  const [[name, said] = []] = entries;
  const isRelated = relations.has(name) && said !== null && typeof said === "object";
  if (isRelated && entries.length === 1 && Object.keys(said).length === 1) {
    return `${name}.${inWords(said, new Set())}`;
  }
  if (entries.length !== 1 || ["and", "or", "nor"].includes(name)) {
    return JSON.stringify(condition);
  }
  if (said === null || typeof said !== "object") {
    return said === null ? `${name} is not set` : `${name} is ${said}`;
  }
  const [[operator, value] = []] = Object.entries(said);
  if (operator === "neq" && value === null) {
    return `${name} is set`;
  }
  const text = typeof value === "string" && operator.endsWith("like") ? value.replace(/^%|%$/g, "").replace(/\\(.)/g, "$1") : JSON.stringify(value);
  return Object.keys(said).length === 1 && WORDS[operator] ? `${name} ${WORDS[operator]} ${text}` : JSON.stringify(condition);
}
