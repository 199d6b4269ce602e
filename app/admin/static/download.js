// A list as a file: all rows of a filter up to a limit, as CSV or JSON.

import { call } from "../../ostiary/static/api.js";
import { Dialog, Form, notify, save } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";

const PAGE = 500;
const MAX_ROWS = 10000;
// Spreadsheets take a cell that begins with one of these for a formula, unless it is a number; the
// last four are full-width.
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** A button whose dialog saves the rows of a filter. */
export function Download({ path, parameters, filter, name }) {
  const [isOpen, setOpen] = useState(false);
  const [count, setCount] = useState(0);
  const close = () => setOpen(false);
  const send = async ({ format }) => {
    const rows = await readAll(path, parameters, filter, setCount);
    const [type, text] = format === "csv" ? ["text/csv", csvOf(rows)] : ["application/json", JSON.stringify(rows, null, 2)];
    save(`${name}.${format}`, text, type);
    close();
    notify(rows.length < MAX_ROWS ? `Saved ${rows.length} rows.` : `Saved the first ${MAX_ROWS} rows.`);
  };
  const cancel = html`<button type="button" onClick=${close}>Cancel</button>`;
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Download</button>
    ${isOpen &&
    html`<${Dialog} title="Download" onClose=${close}>
      <p>All rows that the list has on all of its pages, at most ${MAX_ROWS.toLocaleString()}, with all properties.</p>
      <${Form} label="Download" submit="Download" onSubmit=${send} actions=${cancel}>
        ${() => html`
          <label class="choice"><input type="radio" name="format" value="csv" defaultChecked /> <span>CSV, for spreadsheets</span></label>
          <label class="choice"><input type="radio" name="format" value="json" /> <span>JSON</span></label>
          <p role="status" class="muted">${count > 0 && `${count} rows …`}</p>
        `}
      <//>
    <//>`}
  `;
}

async function readAll(path, parameters, filter, onCount) {
  const rows = [];
  for (let hasMore = true; hasMore && rows.length < MAX_ROWS; ) {
    const query = { ...parameters, filter: { ...filter, limit: PAGE, skip: rows.length || undefined } };
    const { body, headers } = await call("GET", path, { query });
    rows.push(...body);
    hasMore = headers.has("Link") && body.length > 0;
    onCount(rows.length);
  }
  return rows;
}

/** Return rows as CSV (RFC 4180) with a column for every property. */
function csvOf(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return lines.map((cells) => `${cells.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(value) {
  if (value === null || value === undefined) {
    return "";
  }
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  // A text that would be a formula is marked as text.
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
