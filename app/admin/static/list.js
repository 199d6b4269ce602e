// A list of rows in pages: search, filters, order, columns, pages, selection, downloads.

import { call } from "../../ostiary/static/api.js";
import { Action, Problem, useCall } from "../../ostiary/static/parts.js";
import { html, useEffect, useState } from "../../ostiary/static/view.js";
import { go, hrefOf } from "./address.js";
import { useChanges } from "./changes.js";
import { Columns } from "./columns.js";
import { Download } from "./download.js";
import { Filters } from "./filters.js";
import { readState, SIZES, whereOf, writeState } from "./list_state.js";
import { Curl } from "./parts.js";
import { isSearchable } from "./properties.js";
import { Table } from "./table.js";

/**
 * A list of the rows at `path`.
 *
 * `segments` and `query` are the URL's, with the state of the list. `columns` are all columns,
 * those with `isShown` by default; `properties` are for the search and for filters, and `related`,
 * those of related rows, for filters alone. `fixed` are conditions that always hold; `selection`
 * returns the filter's `fields` and `include` for the shown columns; `parameters` are added to the
 * call, `extra` to the URL. `bulk` returns buttons for the selected rows, `tools` are further inputs,
 * `empty` says what to do without rows, and with another `version` the list is loaded again, as it
 * is after changes of the rows of `model`.
 */
export function List(properties) {
  const { label, path, segments, query, columns, properties: known, linkOf, idName = "id", selection } = properties;
  const { related = [], fixed = [], parameters = {}, extra = {}, bulk, tools, empty, model, version = 0 } = properties;
  const state = readState(query);
  const shown = columns.filter(({ name, isShown }) => (state.columns ? state.columns.includes(name) : isShown));
  const searched = known.filter(isSearchable);
  const id = known.find(({ name }) => name === idName);
  const where = whereOf({ ...state, conditions: [...fixed, ...state.conditions] }, searched, id);
  const filter = { where, order: state.order || undefined };
  const pageFilter = { ...filter, ...selection?.(shown), limit: state.limit, skip: state.skip || undefined };
  const key = JSON.stringify([path, pageFilter, parameters, version]);
  const [changes, setChanges] = useState(0);
  useChanges(model, undefined, () => setChanges(changes + 1));
  const page = useCall(() => readPage(path, { ...parameters, filter: pageFilter }), [key, changes]);
  const total = useTotal(path, { ...parameters, filter: { where, limit: 1 } }, page.value, state, [version, changes]);
  const [chosen, choose] = useState(new Set());
  useEffect(() => choose(new Set()), [key]);
  const change = (changes) => go(segments, { ...extra, ...writeState({ ...state, skip: 0, ...changes }) });
  const idOf = (row) => row[idName];
  const rows = page.value?.rows;
  // Others may have removed some.
  const selected = rows?.filter((row) => chosen.has(idOf(row))) ?? [];
  const isFiltered = Boolean(state.q || state.conditions.length);
  return html`
    <div class="tools">
      ${(searched.length > 0 || id) && html`<${Search} key=${state.q} text=${state.q} searched=${searched} onSearch=${(q) => change({ q })} />`}
      ${tools}
      ${known.length > 0 && html`<${Filters} properties=${[...known, ...related]} conditions=${state.conditions} onChange=${(conditions) => change({ conditions })} />`}
      ${columns.length > shown.length || state.columns ? html`<${Columns} all=${columns} shown=${shown} onChange=${(names) => change({ columns: names, skip: state.skip })} />` : null}
      <${Download} path=${path} parameters=${parameters} filter=${filter} name=${label} />
    </div>
    <${Problem} problem=${page.problem} />
    ${page.problem && html`<${Action} onClick=${page.reload}>Try again<//>`}
    ${bulk && selected.length > 0 &&
    html`<div class="chosen" role="group" aria-label="Selected rows">
      <strong>${selected.length} selected</strong> ${bulk(selected)}
    </div>`}
    <div class=${page.isLoading ? "loading" : ""} aria-busy=${page.isLoading}>
      ${rows?.length > 0 &&
      html`<${Table} ...${{ label, columns: shown, rows, idOf, linkOf, order: state.order }} onOrder=${(order) => change({ order })} chosen=${bulk && chosen} onChoose=${choose} />`}
      ${rows?.length === 0 && html`<div class="empty">${isFiltered || state.skip ? html`<p>Nothing matches. <a href=${hrefOf(segments, extra)}>Show all</a></p>` : empty}</div>`}
      ${!rows && page.isLoading && html`<p class="muted" role="status">Loading …</p>`}
    </div>
    ${rows?.length > 0 && html`<${Pager} ...${{ state, count: rows.length, hasMore: page.value.hasMore, total, change }} />`}
    <${Curl} path=${path} query=${{ ...parameters, filter: pageFilter }} />
  `;
}

async function readPage(path, query) {
  const { body, headers } = await call("GET", path, { query });
  return { rows: body, hasMore: headers.has("Link") };
}

/**
 * Return the number of all rows, loaded once for the same conditions and versions, after the first
 * page; until it is loaded anew, the old one.
 */
function useTotal(path, query, page, { skip }, versions) {
  const [counted, setCounted] = useState({});
  const conditions = JSON.stringify([path, query]);
  const key = JSON.stringify([conditions, versions]);
  useEffect(() => {
    if (!page || !page.hasMore || counted.key === key) {
      return undefined;
    }
    const stop = new AbortController();
    call("GET", path, { query: { ...query, count: true }, signal: stop.signal })
      .then(({ headers }) => setCounted({ key, conditions, total: Number(headers.get("X-Total-Count")) }))
      // The rows are shown without their number.
      .catch(() => {});
    return () => stop.abort();
  }, [page, key]);
  if (page && !page.hasMore && (page.rows.length || !skip)) {
    return skip + page.rows.length;
  }
  return counted.conditions === conditions ? counted.total : undefined;
}

function Search({ text, searched, onSearch }) {
  const send = (event) => {
    event.preventDefault();
    onSearch(new FormData(event.currentTarget).get("q"));
  };
  const names = searched.map(({ name }) => name).slice(0, 5).join(", ");
  return html`<form role="search" class="search" onSubmit=${send}>
    <input type="search" name="q" defaultValue=${text} maxlength="100" autocomplete="off" aria-label=${`Search ${names || "by id"}`} placeholder=${`Search ${names || "by id"}`} onSearch=${(event) => event.target.value === "" && text && onSearch("")} />
    <button>Search</button>
  </form>`;
}

function Pager({ state, count, hasMore, total, change }) {
  const { skip, limit } = state;
  const turn = (to) => {
    change({ skip: to });
    scrollTo(0, 0);
  };
  return html`<nav class="pager" aria-label="Pages">
    <p role="status">${skip + 1} to ${skip + count}${total !== undefined && ` of ${total.toLocaleString()}`}</p>
    <button type="button" disabled=${skip === 0} onClick=${() => turn(Math.max(0, skip - limit))}>Previous</button>
    <button type="button" disabled=${!hasMore} onClick=${() => turn(skip + limit)}>Next</button>
    <label>Rows <select value=${limit} onChange=${(event) => change({ limit: Number(event.target.value) })}>
      ${SIZES.map((size) => html`<option key=${size} value=${size}>${size}</option>`)}
    </select></label>
  </nav>`;
}
