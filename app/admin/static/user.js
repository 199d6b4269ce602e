// A user: details, actions, and views of the user's items.

import { call } from "../../ostiary/static/api.js";
import { Action, Loaded, notify, useCall } from "../../ostiary/static/parts.js";
import { html, useEffect, useRef, useState } from "../../ostiary/static/view.js";
import { modelOf, useAdmin, userPath } from "./access.js";
import { go, hrefOf } from "./address.js";
import { Deletion } from "./deletion.js";
import { Confirmed, View } from "./parts.js";
import { TABS } from "./user_tabs.js";
import { UserProperties } from "./user_properties.js";
import { UserRoles } from "./user_roles.js";

const VIEWS = [
  { name: "", title: "Properties", View: UserProperties, isAllowed: () => true },
  { name: "roles", title: "Roles", View: UserRoles, isAllowed: ({ mayAdmin }) => mayAdmin("findUserRoles") || mayAdmin("grantRole") },
  ...TABS,
];

/** The user with an id, and one of its views. */
export function User({ id, tab = "", query }) {
  const admin = useAdmin();
  const path = `/admin/users/${encodeURIComponent(id)}`;
  const user = useCall(async () => (await call("GET", path)).body, [path]);
  const views = VIEWS.filter(({ isAllowed }) => isAllowed(admin));
  const shown = views.find(({ name }) => name === tab) ?? views[0];
  const tabs = useRef();
  // On a phone not all tabs are visible.
  useEffect(() => tabs.current.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" }), [shown.name]);
  const title = user.value?.email ?? `User ${id}`;
  return html`<${View} title=${title} back=${{ href: hrefOf(["users"]), title: "Users" }} actions=${user.value && html`<${Actions} user=${user.value} onDone=${user.reload} />`}>
    <nav class="tabs" aria-label="User" ref=${tabs}>
      ${views.map(({ name, title: text }) => html`<a key=${name} href=${hrefOf(name ? ["users", id, name] : ["users", id])} aria-current=${name === shown.name ? "page" : undefined}>${text}</a>`)}
    </nav>
    <${Loaded} of=${user}>
      ${(value) => html`<${shown.View} user=${value} query=${query} onDone=${user.reload} />`}
    <//>
  <//>`;
}

function Actions({ user, onDone }) {
  const admin = useAdmin();
  const { mayUsers } = admin;
  const [isDeleted, remove] = useState(false);
  const act = (name, text) => async () => {
    await call("POST", userPath(user, `/${name}`));
    notify(text);
    onDone();
  };
  const users = modelOf(user, admin);
  return html`
    ${!user.emailVerified && mayUsers("markVerified") && html`<${Action} onClick=${act("markVerified", "The address counts as verified.")}>Mark verified<//>`}
    ${!user.isService && mayUsers("sendReset") &&
    html`<${Confirmed} title=${`Send ${user.email} a link to set a new password?`} text="The password stays as it is until the link is used." look="" label="Send reset" onConfirm=${act("sendReset", "The mail is on its way.")} />`}
    ${user.disabled && mayUsers("enable") && html`<${Action} onClick=${act("enable", "Enabled.")}>Enable<//>`}
    ${!user.disabled && mayUsers("disable") &&
    html`<${Confirmed} title=${`Disable ${user.email}?`} text="All sessions end at once, and the user cannot log in until it is enabled again. Nothing is deleted." label="Disable" onConfirm=${act("disable", "Disabled. All sessions have ended.")} />`}
    ${mayUsers("deleteById") && users && html`<button type="button" class="danger" onClick=${() => remove(true)}>Delete</button>`}
    ${isDeleted && html`<${Deletion} model=${users} rows=${[user]} onDone=${() => go(["users"])} onClose=${() => remove(false)} />`}
  `;
}
