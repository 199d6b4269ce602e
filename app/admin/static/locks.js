// The section of locks: keys that throttles refuse at the moment.

import { call } from "../../ostiary/static/api.js";
import { Action, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { Curl, View } from "./parts.js";
import { Table } from "./table.js";

/** The locks, each with a button that releases it. */
export default function Locks() {
  const { mayAdmin } = useAdmin();
  const locks = useCall(async () => (await call("GET", "/admin/throttles")).body, []);
  const release = ({ throttle, key }) => async () => {
    await call("DELETE", `/admin/throttles/${encodeURIComponent(throttle)}/${encodeURIComponent(key)}`);
    notify("Released.");
    locks.reload();
  };
  const actions = (lock) => html`<${Action} aria-label=${`Release ${lock.throttle} ${lock.key}`} onClick=${release(lock)}>Release<//>`;
  const columns = [...COLUMNS, ...(mayAdmin("releaseThrottle") ? [{ name: "actions", title: "actions", render: actions }] : [])];
  return html`<${View} title="Locks" actions=${html`<${Action} onClick=${locks.reload}>Refresh<//>`}>
    <p class="muted">Names and addresses are not stored: the key is a digest, the same as in the audit log.</p>
    <${Loaded} of=${locks}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label="locks" columns=${columns} rows=${rows} idOf=${({ throttle, key }) => `${throttle} ${key}`} />`
          : html`<div class="empty"><p>Nobody is locked out.</p></div>`}
    <//>
    <${Curl} path="/admin/throttles" />
  <//>`;
}

const COLUMNS = [
  { name: "throttle", title: "throttle", render: ({ throttle }) => throttle },
  { name: "key", title: "key", render: ({ key }) => html`<code>${key}</code>` },
  { name: "used", title: "used", render: ({ used, limit }) => `${used} of ${limit}` },
  { name: "lockedUntil", title: "locked until", render: ({ lockedUntil }) => html`<${Time} value=${lockedUntil} />` },
];
