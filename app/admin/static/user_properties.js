// The properties of a user: editable ones, and other details.

import { page } from "../../ostiary/static/page.js";
import { Card, Loaded, Time } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { modelOf, useAdmin, userPath } from "./access.js";
import { Facts } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { Related } from "./related.js";
import { Editor, useRow } from "./row.js";
import { States } from "./users.js";

// The password is the caller's, who confirms the change of an email with it.
const OWN = { label: "Your own password", neededFor: "email", hint: "needed if you logged in more than five minutes ago" };

/** The form of a user, and related rows. */
export function UserProperties({ user, onDone }) {
  const admin = useAdmin();
  const { mayUsers } = admin;
  const users = modelOf(user, admin);
  const isAllowed = users && mayUsers("findById") && mayUsers("patchAttributes");
  return isAllowed ? html`<${Form} ...${{ user, users, onDone }} />` : html`<${Summary} user=${user} />`;
}

function Form({ user, users, onDone }) {
  const path = userPath(user);
  const row = useRow(path, [user]);
  const change = (state) => {
    row.replace(state);
    onDone();
  };
  return html`<${Loaded} of=${row}>
    ${(state) => html`<${Editor} model=${users} properties=${written(users)} path=${path} state=${state} onState=${change}>
      <div>
        <${Summary} user=${user} />
        <${Related} model=${users} id=${user.id} row=${state.row} />
      </div>
    <//>`}
  <//>`;
}

/** Return the editable properties of users; the summary has the others. */
function written(users) {
  const all = propertiesOf(users).filter(({ isWritable }) => isWritable);
  const password = all.filter(({ name }) => name === "password").map((property) => ({ ...property, ...OWN }));
  return all
    .filter(({ name }) => name !== "password")
    .flatMap((property) => (property.name === "email" ? [property, ...password] : [property]));
}

function Summary({ user }) {
  const facts = [
    ["id", user.id],
    ["model", page.userModels[user.principalType]?.title],
    ["state", html`<${States} user=${user} />`],
    ["disabled", Boolean(user.disabled) && html`<${Time} value=${user.disabled} />`],
    ["roles", user.roles.length ? user.roles.join(", ") : html`<span class="muted">none</span>`],
    ["realm", user.realm ?? undefined],
    ["created", html`<${Time} value=${user.created} />`],
    ["sessions", user.sessions],
    ["second factors", user.factors?.length ? user.factors.join(", ") : html`<span class="muted">none</span>`],
    ["password", user.hasPassword ? "yes" : "no"],
    ["kind", user.isService && "service account"],
  ];
  return html`<${Card} title="Account"><${Facts} facts=${facts} /><//>`;
}
