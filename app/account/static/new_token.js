// The dialog that creates a personal token.

import { ApiError, call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { Dialog, Field, Form } from "../../ostiary/static/parts.js";
import { html, useId } from "../../ostiary/static/view.js";
import { cancel } from "./rows.js";

const DAY = 86400;
const LIFETIMES = [7, 30, 90, 180, 365].map((days) => days * DAY);
// The offered words of scopes, with the titles of their columns.
const WORDS = { READ: "Read", WRITE: "Write", EXECUTE: "Execute" };

/** The dialog; calls `onMade` with the token, including its value. */
export function NewTokenDialog({ url, onMade, onClose }) {
  const make = async (values) => {
    const scopes = scopesOf(values);
    if (!Object.keys(scopes).length) {
      throw new ApiError(0, { error: { details: { messages: { scopes: ["Tick at least one box."] } } } });
    }
    const body = { name: values.name, ttl: Number(values.ttl), scopes };
    const token = (await call("POST", url, { body })).body;
    onClose();
    await onMade(token);
  };
  return html`<${Dialog} title="Make a token" onClose=${onClose}>
    <${Form} label="Make a token" submit="Make the token" onSubmit=${make} fields=${["name", "ttl", "scopes"]} actions=${cancel(onClose)}>
      ${(problem) => html`
        <${Field} label="Name" name="name" maxlength="100" required hint="What it is for, such as: backup." problem=${problem} />
        <${Field} label="Ends after" name="ttl" problem=${problem}>
          ${(shared) => html`<select ...${shared}>${lifetimes().map(
            (seconds) => html`<option value=${seconds} selected=${seconds === page.personalTokens.ttl}>${inDays(seconds)}</option>`,
          )}</select>`}
        <//>
        <${Scopes} problem=${problem} />
      `}
    <//>
  <//>`;
}

function Scopes({ problem }) {
  const id = useId();
  const texts = problem?.fields?.scopes;
  return html`<fieldset aria-describedby=${texts ? id : undefined}>
    <legend>What it may do</legend>
    ${texts && html`<p id=${id} class="problem" role="alert">${texts.join(", ")}</p>`}
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Of</th>${Object.values(WORDS).map((word) => html`<th scope="col">${word}</th>`)}</tr></thead>
        <tbody>${page.models.map((model) => html`<${ModelRow} key=${model} model=${model} />`)}</tbody>
      </table>
    </div>
  </fieldset>`;
}

function ModelRow({ model }) {
  return html`<tr>
    <th scope="row">${model}</th>
    ${Object.entries(WORDS).map(
      ([word, text]) => html`<td><input type="checkbox" name="${word} ${model}" aria-label="${text} ${model}" /></td>`,
    )}
  </tr>`;
}

/** Return the scopes of the ticked boxes: words by the name of the model. */
function scopesOf(values) {
  const scopes = {};
  for (const word of Object.keys(WORDS)) {
    for (const model of page.models.filter((one) => values[`${word} ${one}`])) {
      scopes[model] = [...(scopes[model] ?? []), word];
    }
  }
  return scopes;
}

function lifetimes() {
  const { ttl, max_ttl: longest } = page.personalTokens;
  const offered = LIFETIMES.filter((seconds) => seconds <= longest);
  return [...new Set([...offered, ttl])].sort((one, other) => one - other);
}

function inDays(seconds) {
  const days = seconds / DAY;
  if (days < 1) {
    return `${Math.round(seconds / 60)} minutes`;
  }
  return Math.round(days) === 1 ? "1 day" : `${Math.round(days)} days`;
}
