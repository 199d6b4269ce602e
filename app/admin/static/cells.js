// The contents of lists' cells.

import { Time } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";

const MAX_TEXT = 200;

/** A short form of a property's value. */
export function Value({ property, value }) {
  if (value === null || value === undefined) {
    return html`<span class="muted">none</span>`;
  }
  switch (property?.kind) {
    case "time":
      return html`<${Time} value=${value} />`;
    case "boolean":
      return value ? "yes" : html`<span class="muted">no</span>`;
    case "json":
      return html`<code>${short(JSON.stringify(value))}</code>`;
    case "file":
      return html`<a href=${value.url}>${short(value.name)}</a>`;
    default:
      return value === "" ? html`<span class="muted">empty</span>` : short(String(value));
  }
}

function short(text) {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
