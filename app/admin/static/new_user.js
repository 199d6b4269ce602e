// The form that creates a user.

import { call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { notify } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { USERS, useAdmin, viewOfRow } from "./access.js";
import { askBeforeLeaving, go, hrefOf } from "./address.js";
import { Curl, View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { RecordForm } from "./record.js";

// If the caller may not read the models.
const BASICS = {
  relations: [],
  createSchema: {
    properties: { email: { type: "string", maxLength: 254 }, username: { type: ["string", "null"] }, password: { type: "string", format: "password" } },
    required: ["email", "password"],
  },
};

/** The form of a new user. */
export function NewUser() {
  const admin = useAdmin();
  const { model } = admin;
  const [values, setValues] = useState({});
  const properties = propertiesOf(model("users") ?? BASICS).filter(({ isCreated }) => isCreated);
  const required = properties.filter(({ isRequired }) => isRequired);
  const others = properties.filter(({ isRequired }) => !isRequired);
  const create = async (body) => {
    const made = (await call("POST", `/${page.userModels[""]?.path ?? page.users}`, { body })).body;
    notify(`Created ${made.email}.`);
    askBeforeLeaving(false);
    go(viewOfRow(admin, USERS, made.id) ?? ["users"]);
  };
  return html`<${View} title="New user" back=${{ href: hrefOf(["users"]), title: "Users" }}>
    <section class="card">
      <${RecordForm} properties=${[...required, ...others]} row=${{}} isNew=${true} label="New user" submit="Create" onSave=${create} onChange=${setValues} />
    </section>
    <${Curl} verb="POST" path=${`/${page.userModels[""]?.path ?? page.users}`} body=${values} />
  <//>`;
}
