// The input of a reference: the id of another row, and a dialog that finds it.

import { call } from "../../ostiary/static/api.js";
import { kindOf } from "../../ostiary/static/kinds.js";
import { Dialog, Problem, useCall } from "../../ostiary/static/parts.js";
import { html, useEffect, useState } from "../../ostiary/static/view.js";
import { RowLink, useAdmin } from "./access.js";
import { whereOf } from "./list_state.js";
import { isSearchable, labelsOf, propertiesOf } from "./properties.js";
import { inSentence, titleOf } from "./titles.js";

const FOUND = 20;
// Milliseconds without a key before a search.
const PAUSE = 200;

/** The id of a row, with the row's name, and a button to search for another. */
export function Reference({ shared, property, text = "", onText }) {
  const { model, may } = useAdmin();
  const [isOpen, setOpen] = useState(false);
  const target = model(property.target);
  const canSearch = target && may(target.name, "find");
  const choose = (id) => {
    onText(String(id));
    setOpen(false);
  };
  return html`
    <div class="reference">
      <input ...${shared} autocomplete="off" value=${text} onInput=${(event) => onText(event.target.value)} />
      ${canSearch && html`<button type="button" aria-label=${`Search for ${property.name}`} onClick=${() => setOpen(true)}>Search…</button>`}
    </div>
    ${canSearch && html`<${Called} target=${target} id=${text} />`}
    ${isOpen && html`<${SearchDialog} target=${target} onChoose=${choose} onClose=${() => setOpen(false)} />`}
  `;
}

/** The name of the row with this id, as a link to it. */
function Called({ target, id }) {
  const fields = [target.idName, ...labelsOf(target)];
  const path = `${target.path}/${encodeURIComponent(id)}`;
  const row = useCall(async () => (id ? (await call("GET", path, { query: { filter: { fields } } })).body : null), [path]);
  if (!id || row.isLoading) {
    return null;
  }
  return row.value
    ? html`<small><${RowLink} model=${target} id=${id}>${titleOf(target, id, row.value)}<//></small>`
    : html`<small>There is no ${inSentence(target)} ${id} that you may see.</small>`;
}

/** A dialog that searches rows of a model; calls `onChoose` with the id of one. */
export function SearchDialog({ target, onChoose, onClose }) {
  const [text, setText] = useState("");
  const words = useLater(text);
  const properties = propertiesOf(target);
  const id = { name: target.idName, schema: target.schema.properties[target.idName], kind: kindOf(target.schema.properties[target.idName]) };
  const searched = properties.filter(isSearchable);
  const filter = {
    where: whereOf({ q: words, conditions: [] }, searched, id),
    fields: [...new Set([target.idName, ...searched.slice(0, 3).map(({ name }) => name)])],
    limit: FOUND,
  };
  const found = useCall(async () => (await call("GET", target.path, { query: { filter } })).body, [JSON.stringify(filter)]);
  return html`<${Dialog} title=${`Search ${target.name}`} onClose=${onClose}>
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <input type="search" aria-label=${`Search ${target.name}`} maxlength="50" autofocus autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} />
    </form>
    <${Problem} problem=${found.problem} />
    <ul class="found" aria-busy=${found.isLoading}>
      ${found.value?.map(
        (row) => html`<li key=${row[target.idName]}>
          <button type="button" onClick=${() => onChoose(row[target.idName])}>
            <span class="muted">${row[target.idName]}</span> ${searched.slice(0, 3).map(({ name }) => row[name]).filter(Boolean).join(" · ")}
          </button>
        </li>`,
      )}
    </ul>
    ${found.value?.length === 0 && html`<p class="muted">Nothing matches.</p>`}
    <div class="buttons"><button type="button" onClick=${onClose}>Cancel</button></div>
  <//>`;
}

/** Return a text after it has not changed for a moment. */
function useLater(text) {
  const [later, setLater] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return later;
}
