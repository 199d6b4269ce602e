// A table of rows: the head sorts, rows can be opened and selected.

import { html } from "../../ostiary/static/view.js";
import { go } from "./address.js";

/**
 * The rows as a table; on a phone each row is a card.
 *
 * `columns` have `name`, `title`, `render(row)`, and whether they are `isOrderable`
 * and `isShort`, which is not broken into lines. `linkOf` returns
 * the segments of the address of a row, if it has one. `chosen` is the set of the ids of chosen rows, if any may be.
 */
export function Table({ label, columns, rows, idOf, linkOf, order, onOrder, chosen, onChoose }) {
  const all = chosen && rows.length > 0 && rows.every((row) => chosen.has(idOf(row)));
  const chooseAll = (event) => onChoose(new Set(event.target.checked ? rows.map(idOf) : []));
  const choose = (row) => {
    const next = new Set(chosen);
    if (!next.delete(idOf(row))) {
      next.add(idOf(row));
    }
    onChoose(next);
  };
  return html`<div class="wide"><table class="rows" role="table" aria-label=${label}>
    <thead role="rowgroup">
      <tr role="row">
        ${chosen &&
        html`<th role="columnheader" class="choose"><input type="checkbox" aria-label="Select all rows of the page" checked=${all} onChange=${chooseAll} /></th>`}
        ${columns.map((column) => html`<${Head} key=${column.name} ...${{ column, order, onOrder }} />`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row) => html`<tr role="row" key=${idOf(row)} class=${linkOf?.(row) ? "opens" : ""} onClick=${(event) => linkOf?.(row) && open(event, linkOf(row))}>
          ${chosen &&
          html`<td role="cell" class="choose"><input type="checkbox" aria-label=${`Select ${idOf(row)}`} checked=${chosen.has(idOf(row))} onChange=${() => choose(row)} /></td>`}
          ${columns.map((column) => html`<td role="cell" key=${column.name} class=${column.isShort ? "short" : ""} data-title=${column.title}><div>${column.render(row)}</div></td>`)}
        </tr>`,
      )}
    </tbody>
  </table></div>`;
}

function Head({ column: { name, title, isOrderable }, order, onOrder }) {
  if (!isOrderable) {
    return html`<th role="columnheader" scope="col">${title}</th>`;
  }
  const [by, direction = "ASC"] = (order ?? "").split(" ");
  const isHere = by === name;
  const next = isHere && direction === "ASC" ? `${name} DESC` : name;
  const sort = isHere ? (direction === "ASC" ? "ascending" : "descending") : undefined;
  return html`<th role="columnheader" scope="col" aria-sort=${sort}>
    <button type="button" onClick=${() => onOrder(next)}>${title}<span aria-hidden="true" class=${sort ? "" : "muted"}> ${{ ascending: "↑", descending: "↓" }[sort] ?? "↕"}</span></button>
  </th>`;
}

/** Open a row by a click anywhere in it, unless it is on a control or selects text. */
function open(event, segments) {
  const isOther = event.target.closest("a, button, input, label, .choose");
  if (!isOther && !event.ctrlKey && !event.metaKey && !getSelection().toString()) {
    go(segments);
  }
}
