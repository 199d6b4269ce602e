// Actions on several rows at once: deleting them, or setting a property of all of them.

import { call } from "../../ostiary/static/api.js";
import { Dialog, Field, Form, notify } from "../../ostiary/static/parts.js";
import { valueOf } from "../../ostiary/static/values.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { Deletion } from "./deletion.js";
import { PropertyField } from "./fields.js";

/** The buttons for selected rows. */
export function BulkActions({ model, properties, rows, onDone }) {
  const { may } = useAdmin();
  const [asked, ask] = useState("");
  const close = () => ask("");
  const done = () => {
    close();
    onDone();
  };
  const written = properties.filter(({ isWritable, kind }) => isWritable && kind !== "password");
  return html`
    ${may(model.name, "updateAll") && written.length > 0 && html`<button type="button" onClick=${() => ask("set")}>Set a property</button>`}
    ${may(model.name, "deleteById") && html`<button type="button" class="danger" onClick=${() => ask("delete")}>Delete</button>`}
    ${asked === "set" && html`<${SetProperty} ...${{ model, written, rows }} onDone=${done} onClose=${close} />`}
    ${asked === "delete" && html`<${Deletion} ...${{ model, rows }} onDone=${done} onClose=${close} />`}
  `;
}

function SetProperty({ model, written, rows, onDone, onClose }) {
  const [name, setName] = useState(written[0].name);
  const [text, setText] = useState("");
  const property = written.find((each) => each.name === name);
  const send = async () => {
    const body = { [name]: read(property, text) };
    const where = { [model.idName]: { inq: rows.map((row) => row[model.idName]) } };
    const { count } = (await call("POST", `${model.path}/update`, { query: { where }, body })).body;
    notify(`Changed ${count} rows.`);
    onDone();
  };
  const cancel = html`<button type="button" onClick=${onClose}>Cancel</button>`;
  const choose = (event) => {
    setName(event.target.value);
    setText("");
  };
  return html`<${Dialog} title=${`Set a property of ${rows.length} rows`} onClose=${onClose}>
    <${Form} label="Set a property" submit="Set" onSubmit=${send} fields=${[name]} actions=${cancel}>
      ${(problem) => html`
        <${Field} label="Property" name="property">
          ${(shared) => html`<select ...${shared} value=${name} onChange=${choose}>${written.map((each) => html`<option key=${each.name}>${each.name}</option>`)}</select>`}
        <//>
        <${PropertyField} key=${name} ...${{ property, text, problem }} onText=${setText} />
      `}
    <//>
  <//>`;
}

function read(property, text) {
  try {
    return valueOf(property, text);
  } catch (error) {
    throw Object.assign(error, { fields: { [property.name]: [error.message] } });
  }
}
