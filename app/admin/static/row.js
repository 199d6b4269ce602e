// A row: its form, related rows, and deleting it.

import { call } from "../../ostiary/static/api.js";
import { Loaded, notify, useCall } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { go, hrefOf, isEdited } from "./address.js";
import { Value } from "./cells.js";
import { useChanges } from "./changes.js";
import { Conflict } from "./conflict.js";
import { Deletion } from "./deletion.js";
import { Curl, Facts, View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { RecordForm } from "./record.js";
import { Related } from "./related.js";
import { pluralOf, singularOf, titleOf } from "./titles.js";

/** The row of a model with an id. */
export function Row({ model, id }) {
  const path = `${model.path}/${encodeURIComponent(id)}`;
  const row = useRow(path);
  const where = row.value && { [model.idName]: row.value.row[model.idName] };
  // What is being edited stays as it was read: saving it reports the conflict.
  useChanges(where && model, where, () => isEdited() || row.reload());
  const [isDeleted, remove] = useState(false);
  const { may } = useAdmin();
  const back = { href: hrefOf(["rows", model.name]), title: pluralOf(model) };
  const button = may(model.name, "deleteById") && row.value && html`<button type="button" class="danger" onClick=${() => remove(true)}>Delete</button>`;
  return html`<${View} title=${titleOf(model, id, row.value?.row)} back=${back} actions=${button}>
    <${Loaded} of=${row}>
      ${(state) => html`
        <${Editor} ...${{ model, path, state }} properties=${propertiesOf(model)} onState=${row.replace}>
          <${Related} model=${model} id=${id} row=${state.row} />
        <//>
        ${isDeleted && html`<${Deletion} model=${model} rows=${[state.row]} etag=${state.etag} onClose=${() => remove(false)} onDone=${() => go(["rows", model.name])} />`}
      `}
    <//>
  <//>`;
}

/** Return a row with its tag, as `useCall` does; `replace` sets the result of a change. */
export function useRow(path, inputs = []) {
  const read = useCall(() => readRow(path), [path, ...inputs]);
  const [newer, setNewer] = useState({});
  const value = newer.than === read.value ? newer.state : read.value;
  return { ...read, value, replace: (state) => setNewer({ than: read.value, state }) };
}

async function readRow(path) {
  return stateOf(await call("GET", path));
}

function stateOf({ body, headers }) {
  return { row: body, etag: headers.get("ETag") };
}

/**
 * The form of a row, its other properties, and the dialog if somebody else has changed it.
 *
 * `children` are shown beside it, `onState` gets the row when it has changed.
 */
export function Editor({ model, properties, path, state, onState, children }) {
  const { may } = useAdmin();
  const [changes, setChanges] = useState({});
  const [conflict, setConflict] = useState(null);
  // The form is created anew after a conflict.
  const [version, setVersion] = useState(0);
  const mayChange = may(model.name, "patchAttributes");
  const written = properties.filter(({ isWritable, kind, isReadable }) => mayChange && isWritable && (isReadable || kind === "password"));
  const fixed = properties.filter((property) => property.isReadable && !written.includes(property));
  const save = async (body, etag) => {
    const headers = etag ? { "If-Match": etag } : {};
    onState(stateOf(await call("PATCH", path, { body, headers })));
    setChanges({});
    notify("Saved.");
  };
  const send = async (body) => {
    try {
      await save(body, state.etag);
      return true;
    } catch (error) {
      if (error.status !== 412) {
        throw error;
      }
      setConflict({ mine: body, now: await readRow(path) });
      return false;
    }
  };
  const begin = () => {
    setConflict(null);
    setVersion(version + 1);
  };
  const reload = () => {
    onState(conflict.now);
    setChanges({});
    begin();
  };
  const overwrite = async () => {
    await save(conflict.mine, conflict.now.etag);
    begin();
  };
  return html`
    <div class="columns">
      <section class="card">
        <${Facts} facts=${fixed.map((property) => [property.name, html`<${Value} property=${property} value=${state.row[property.name]} />`])} />
        ${written.length > 0 &&
        html`<${RecordForm} key=${version} properties=${written} row=${state.row} label=${singularOf(model)} submit="Save" onSave=${send} onChange=${setChanges} />`}
      </section>
      ${children}
    </div>
    ${conflict &&
    html`<${Conflict} ...${conflict} base=${state.row} properties=${properties} onReload=${reload} onOverwrite=${overwrite} onClose=${() => setConflict(null)} />`}
    ${Object.keys(changes).length ? html`<${Curl} verb="PATCH" path=${path} body=${changes} />` : html`<${Curl} path=${path} />`}
  `;
}
