// The roles of a user.

import { call } from "../../ostiary/static/api.js";
import { Action, Card, Field, Form, notify, useCall } from "../../ostiary/static/parts.js";
import { html, useId } from "../../ostiary/static/view.js";
import { rolePath, useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Confirmed } from "./parts.js";

/** The roles, each with a button that revokes it, and a form that grants one. */
export function UserRoles({ user, onDone }) {
  const { mayAdmin } = useAdmin();
  const roles = useCall(async () => (mayAdmin("findRoles") ? (await call("GET", "/admin/roles")).body : []), [user]);
  const list = useId();
  const grant = async ({ role }) => {
    await call("PUT", rolePath(user.id, role.trim()));
    notify(`Granted ${role}.`);
    onDone();
  };
  const revoke = (role) => async () => {
    await call("DELETE", rolePath(user.id, role));
    notify(`Revoked ${role}.`);
    onDone();
  };
  const others = (roles.value ?? []).filter(({ name }) => !user.roles.includes(name));
  return html`<${Card} title="Roles">
    ${user.roles.length === 0 && html`<p class="muted">${user.email} has no role.</p>`}
    <ul class="entries">
      ${user.roles.map(
        (role) => html`<li key=${role}>
          <span>${mayAdmin("findMembers") ? html`<a href=${hrefOf(["roles", role])}>${role}</a>` : role}</span>
          ${mayAdmin("revokeRole") &&
          html`<${Confirmed} title=${`Take the role ${role} from ${user.email}?`} text="It acts at once, in all sessions." label="Revoke" onConfirm=${revoke(role)} />`}
        </li>`,
      )}
    </ul>
    ${mayAdmin("grantRole") &&
    html`<${Form} label="Grant a role" submit="Grant" onSubmit=${grant} fields=${["role"]} isEmptied=${true}>
      ${(problem) => html`
        <${Field} label="Role" name="role" list=${list} required maxlength="255" autocomplete="off" problem=${problem} />
        <datalist id=${list}>${others.map(({ name }) => html`<option key=${name} value=${name}></option>`)}</datalist>
      `}
    <//>`}
  <//>`;
}
