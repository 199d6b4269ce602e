// The section of users: the list, a user, and a new one.

import { page } from "../../ostiary/static/page.js";
import { Time } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { RowLink, USERS, useAdmin, viewOfRow } from "./access.js";
import { go, hrefOf } from "./address.js";
import { List } from "./list.js";
import { readState, writeState } from "./list_state.js";
import { NewUser } from "./new_user.js";
import { View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { User } from "./user.js";

// The filters of users if the caller may not read the models.
const BASICS = {
  relations: [],
  schema: {
    properties: {
      id: { type: "integer", readOnly: true },
      email: { type: "string" },
      username: { type: ["string", "null"] },
      realm: { type: ["string", "null"] },
      emailVerified: { type: "boolean" },
      created: { type: "string", format: "date-time" },
    },
  },
};
const MODEL = { name: "principalType", schema: { type: "string" }, kind: "text", isNullable: false, isReadable: true };
const DISABLED = { name: "disabled", schema: { type: ["string", "null"], format: "date-time" }, kind: "time", isNullable: true, isReadable: true };

/** The view in the URL: all users, `new`, `7` or `7/sessions`. */
export default function Users({ segments, query }) {
  const [id, tab] = segments;
  if (id === "new") {
    return html`<${NewUser} />`;
  }
  return id ? html`<${User} id=${id} tab=${tab} query=${query} />` : html`<${AllUsers} query=${query} />`;
}

function AllUsers({ query }) {
  const admin = useAdmin();
  const { model, mayUsers } = admin;
  const types = Object.keys(page.userModels).length ? [MODEL] : [];
  const properties = [...propertiesOf(model("users") ?? BASICS).filter(({ isReadable }) => isReadable), DISABLED, ...types];
  const known = ["id", "email", "username", "roles", "disabled", "emailVerified", "created", "realm", "principalType"];
  const own = properties.filter(({ name }) => !known.includes(name));
  const { role = "" } = query;
  const create = mayUsers("create") && html`<a class="button strong" href=${hrefOf(["users", "new"])}>New user</a>`;
  return html`<${View} title="Users" actions=${create}>
    <${List}
      label="users"
      path="/admin/users"
      segments=${["users"]}
      query=${query}
      properties=${properties}
      columns=${[...COLUMNS, ...types.map(modelColumn), ...own.map(({ name }) => ({ name, title: name, isOrderable: true, render: (user) => String(user[name] ?? "") }))]}
      linkOf=${({ id }) => viewOfRow(admin, USERS, id)}
      parameters=${role ? { role } : {}}
      extra=${{ role }}
      tools=${html`<${RoleFilter} role=${role} onChange=${(name) => go(["users"], { ...writeState({ ...readState(query), skip: 0 }), role: name })} />`}
      empty=${html`<p>${role ? `Nobody has the role ${role}.` : "There are no users."}</p>`}
    />
  <//>`;
}

function RoleFilter({ role, onChange }) {
  return html`<form class="search" onSubmit=${(event) => { event.preventDefault(); onChange(new FormData(event.currentTarget).get("role").trim()); }}>
    <input name="role" aria-label="Role" placeholder="Role" defaultValue=${role} key=${role} autocomplete="off" size="10" />
  </form>`;
}

const COLUMNS = [
  { name: "id", title: "id", isShort: true, isShown: true, isOrderable: true, render: ({ id }) => html`<${RowLink} model=${USERS} id=${id} class="open">${id}<//>` },
  { name: "email", title: "email", isShown: true, isOrderable: true, render: ({ email }) => email },
  { name: "username", title: "username", isShown: true, isOrderable: true, render: ({ username }) => username ?? "" },
  { name: "roles", title: "roles", isShown: true, render: ({ roles }) => roles.map((name) => html`<span class="badge" key=${name}>${name}</span> `) },
  { name: "state", title: "state", isShort: true, isShown: true, render: (user) => html`<${States} user=${user} />` },
  { name: "created", title: "created", isShort: true, isShown: true, isOrderable: true, render: ({ created }) => html`<${Time} value=${created} />` },
  { name: "realm", title: "realm", isOrderable: true, render: ({ realm }) => realm ?? "" },
];

function modelColumn({ name }) {
  return { name, title: "model", isShort: true, isShown: true, isOrderable: true, render: (user) => page.userModels[user[name]]?.title ?? user[name] };
}

/** Whether a user is disabled or not verified. */
export function States({ user: { disabled, emailVerified } }) {
  return html`
    ${disabled && html`<span class="badge bad">disabled</span> `}
    ${emailVerified ? html`<span class="badge good">verified</span>` : html`<span class="badge">not verified</span>`}
  `;
}
