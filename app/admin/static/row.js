// One row: its form, what is related to it, and its end.

import { call } from "../../ostiary/static/api.js";
import { Loaded, notify, useCall } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { askBeforeLeaving, go, hrefOf } from "./address.js";
import { Value } from "./cells.js";
import { Conflict } from "./conflict.js";
import { Deletion } from "./deletion.js";
import { Curl, Facts, View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { RecordForm } from "./record.js";
import { Related } from "./related.js";

/** The row of a model with an id. */
export function Row({ model, id }) {
  const path = `${model.path}/${encodeURIComponent(id)}`;
  const read = useCall(() => readRow(path), [path]);
  const back = { href: hrefOf(["rows", model.name]), title: model.name };
  const [isDeleted, remove] = useState(false);
  const { may } = useAdmin();
  const button = may(model.name, "deleteById") && read.value && html`<button type="button" class="danger" onClick=${() => remove(true)}>Delete</button>`;
  return html`<${View} title=${`${model.singular} ${id}`} back=${back} actions=${button}>
    <${Loaded} of=${read}>
      ${(state) => html`
        <${Editor} key=${state.etag} ...${{ model, path, state }} properties=${propertiesOf(model)} onRead=${read.reload}>
          <${Related} model=${model} id=${id} row=${state.row} />
        <//>
        ${isDeleted && html`<${Deletion} model=${model} rows=${[state.row]} etag=${state.etag} onClose=${() => remove(false)} onDone=${() => go(["rows", model.name])} />`}
      `}
    <//>
  <//>`;
}

/** Return a row with its tag. */
export async function readRow(path) {
  const { body, headers } = await call("GET", path);
  return { row: body, etag: headers.get("ETag") };
}

/**
 * The form of a row, its other properties, and what to do if somebody else has changed it.
 *
 * `children` stand beside it, `onRead` reads the row again.
 */
export function Editor({ model, properties, path, state, onRead, children }) {
  const { may } = useAdmin();
  const [changes, setChanges] = useState({});
  const [conflict, setConflict] = useState(null);
  const mayChange = may(model.name, "patchAttributes");
  const written = properties.filter(({ isWritable, kind, isReadable }) => mayChange && isWritable && (isReadable || kind === "password"));
  const fixed = properties.filter((property) => property.isReadable && !written.includes(property));
  const save = async (body, etag) => {
    await call("PATCH", path, { body, headers: etag ? { "If-Match": etag } : {} });
    askBeforeLeaving(false);
    notify("Saved.");
    setConflict(null);
    onRead();
  };
  const send = async (body) => {
    if (!Object.keys(body).length) {
      notify("Nothing has changed.");
      return;
    }
    try {
      await save(body, state.etag);
    } catch (error) {
      if (error.status !== 412) {
        throw error;
      }
      setConflict({ mine: body, now: await readRow(path) });
    }
  };
  const reload = () => {
    askBeforeLeaving(false);
    setConflict(null);
    onRead();
  };
  return html`
    <div class="columns">
    <section class="card">
      <${Facts} facts=${fixed.map((property) => [property.name, html`<${Value} property=${property} value=${state.row[property.name]} />`])} />
      ${written.length > 0 &&
      html`<${RecordForm} properties=${written} row=${state.row} label=${model.singular} submit="Save" onSave=${send} onChange=${setChanges} />`}
    </section>
    ${children}
    </div>
    ${conflict &&
    html`<${Conflict} ...${conflict} base=${state.row} properties=${properties} onReload=${reload} onOverwrite=${() => save(conflict.mine, conflict.now.etag)} onClose=${() => setConflict(null)} />`}
    ${Object.keys(changes).length ? html`<${Curl} verb="PATCH" path=${path} body=${changes} />` : html`<${Curl} path=${path} />`}
  `;
}
