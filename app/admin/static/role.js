// A role: its members, granting it, and deleting it.

import { call } from "../../ostiary/static/api.js";
import { notify } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { rolePath, useAdmin } from "./access.js";
import { go, hrefOf } from "./address.js";
import { Confirmed, Curl, View } from "./parts.js";
import { Members } from "./members.js";
import { SearchDialog } from "./reference.js";

/** The members of a role. */
export function Role({ name, query }) {
  const { mayAdmin, model } = useAdmin();
  const [isAsked, ask] = useState(false);
  const [version, setVersion] = useState(0);
  const part = `/roles/${encodeURIComponent(name)}`;
  const change = async (verb, id, text) => {
    await call(verb, rolePath(id, name));
    notify(text);
    setVersion(version + 1);
  };
  const grant = async (id) => {
    ask(false);
    await change("PUT", id, `Granted ${name}.`).catch((error) => notify(error.message));
  };
  const remove = async () => {
    await call("DELETE", `/admin${part}`);
    notify(`Deleted ${name}.`);
    go(["roles"]);
  };
  const users = model("users");
  const canGrant = users && mayAdmin("grantRole") && mayAdmin("findUsers");
  const actions = html`
    ${canGrant && html`<button type="button" class="strong" onClick=${() => ask(true)}>Add a member</button>`}
    ${mayAdmin("deleteRole") && html`<${Confirmed} title=${`Delete the role ${name}?`} text="All members lose it at once. Rules that name it stay." label="Delete" onConfirm=${remove} />`}
  `;
  return html`<${View} title=${`Role ${name}`} back=${{ href: hrefOf(["roles"]), title: "Roles" }} actions=${actions}>
    ${mayAdmin("findMembers") && html`<${Members} ...${{ name, query, version }} onRevoke=${mayAdmin("revokeRole") && ((id) => change("DELETE", id, `Revoked ${name}.`))} />`}
    ${isAsked && html`<${SearchDialog} target=${{ ...users, path: "/admin/users" }} onChoose=${grant} onClose=${() => ask(false)} />`}
    <${Curl} path=${`/admin${part}/members`} />
  <//>`;
}
