// The members of a role, page by page.

import { call } from "../../ostiary/static/api.js";
import { Loaded, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { RowLink, USERS } from "./access.js";
import { go } from "./address.js";
import { Confirmed } from "./parts.js";
import { Table } from "./table.js";

const PAGE = 25;

/** The members; `onRevoke` revokes the role from the user with an id. */
export function Members({ name, query, version, onRevoke }) {
  const skip = Number(query.skip) || 0;
  const path = `/admin/roles/${encodeURIComponent(name)}/members`;
  // One more than shown, to know whether there are more.
  const read = useCall(async () => (await call("GET", path, { query: { limit: PAGE + 1, skip } })).body, [path, skip, version]);
  const turn = (to) => go(["roles", name], { skip: to || "" });
  const columns = [
    { name: "id", title: "id", render: ({ id }) => html`<${RowLink} model=${USERS} id=${id} class="open">${id}<//>` },
    { name: "email", title: "email", render: ({ email }) => email },
    { name: "username", title: "username", render: ({ username }) => username ?? "" },
    ...(onRevoke ? [{ name: "actions", title: "actions", render: (user) => html`<${Revoke} ...${{ name, user, onRevoke }} />` }] : []),
  ];
  return html`<${Loaded} of=${read}>
    ${(rows) =>
      rows.length
        ? html`
            <${Table} label=${`members of ${name}`} columns=${columns} rows=${rows.slice(0, PAGE)} idOf=${({ id }) => id} />
            ${(skip > 0 || rows.length > PAGE) &&
            html`<nav class="pager" aria-label="Pages">
              <p>from ${skip + 1}</p>
              <button type="button" disabled=${skip === 0} onClick=${() => turn(Math.max(0, skip - PAGE))}>Previous</button>
              <button type="button" disabled=${rows.length <= PAGE} onClick=${() => turn(skip + PAGE)}>Next</button>
            </nav>`}
          `
        : html`<div class="empty"><p>Nobody has this role. Add a member.</p></div>`}
  <//>`;
}

function Revoke({ name, user, onRevoke }) {
  return html`<${Confirmed} title=${`Take the role ${name} from ${user.email}?`} text="It acts at once, in all sessions." label="Revoke" onConfirm=${() => onRevoke(user.id)} />`;
}
