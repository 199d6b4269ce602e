// The section of the audit log of all users.

import { html, useState } from "../../ostiary/static/view.js";
import { AuditList } from "./audit_list.js";
import { View } from "./parts.js";

/** The audit log. */
export default function Audit({ query }) {
  const [version, setVersion] = useState(0);
  const refresh = html`<button type="button" onClick=${() => setVersion(version + 1)}>Refresh</button>`;
  return html`<${View} title="Audit log" actions=${refresh}>
    <${AuditList} path="/admin/audit" segments=${["audit"]} query=${query} version=${version} />
  <//>`;
}
