// The section of roles: all roles, and the members of one.

import { call } from "../../ostiary/static/api.js";
import { Card, Field, Form, Loaded, notify, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Curl, View } from "./parts.js";
import { Role } from "./role.js";
import { Table } from "./table.js";

/** The view in the URL: all roles, or one. */
export default function Roles({ segments: [name], query }) {
  return name ? html`<${Role} name=${name} query=${query} />` : html`<${AllRoles} />`;
}

function AllRoles() {
  const { mayAdmin } = useAdmin();
  const roles = useCall(async () => (await call("GET", "/admin/roles")).body, []);
  const create = async ({ name }) => {
    await call("POST", "/admin/roles", { body: { name } });
    notify(`Created ${name}.`);
    roles.reload();
  };
  return html`<${View} title="Roles">
    <${Loaded} of=${roles}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label="roles" columns=${COLUMNS} rows=${rows} idOf=${({ name }) => name} linkOf=${({ name }) => ["roles", name]} />`
          : html`<div class="empty"><p>There is no role yet. Rules of models name the roles that they are for.</p></div>`}
    <//>
    ${mayAdmin("createRole") &&
    html`<${Card} title="New role">
      <${Form} label="New role" submit="Create" onSubmit=${create} fields=${["name"]} isEmptied=${true}>
        ${(problem) => html`<${Field} label="Name" name="name" required maxlength="255" autocomplete="off" problem=${problem} />`}
      <//>
    <//>`}
    <${Curl} path="/admin/roles" />
  <//>`;
}

const COLUMNS = [
  { name: "name", title: "name", render: ({ name }) => html`<a class="open" href=${hrefOf(["roles", name])}>${name}</a>` },
  { name: "members", title: "members", render: ({ members }) => members },
];
