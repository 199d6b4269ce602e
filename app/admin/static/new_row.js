// The form that creates a row.

import { call } from "../../ostiary/static/api.js";
import { notify } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin, viewOfRow } from "./access.js";
import { askBeforeLeaving, go, hrefOf } from "./address.js";
import { Curl, View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { RecordForm } from "./record.js";
import { inSentence, pluralOf } from "./titles.js";

/** The form of a new row. */
export function NewRow({ model }) {
  const admin = useAdmin();
  const [values, setValues] = useState({});
  const properties = propertiesOf(model).filter(({ isCreated }) => isCreated);
  const required = properties.filter(({ isRequired }) => isRequired);
  const others = properties.filter(({ isRequired }) => !isRequired);
  const create = async (body) => {
    const made = (await call("POST", model.path, { body })).body;
    notify(`Created ${inSentence(model)} ${made[model.idName]}.`);
    askBeforeLeaving(false);
    go(viewOfRow(admin, model, made[model.idName]) ?? ["rows", model.name]);
  };
  const title = `New ${inSentence(model)}`;
  const back = { href: hrefOf(["rows", model.name]), title: pluralOf(model) };
  return html`<${View} title=${title} back=${back}>
    <section class="card">
      <${RecordForm} properties=${[...required, ...others]} row=${{}} isNew=${true} label=${title} submit="Create" onSave=${create} onChange=${setValues} />
    </section>
    <${Curl} verb="POST" path=${model.path} body=${values} />
  <//>`;
}
