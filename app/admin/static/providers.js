// The section of identity providers.

import { call } from "../../ostiary/static/api.js";
import { Loaded, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { Curl, View } from "./parts.js";
import { Table } from "./table.js";

/** The providers. */
export default function Providers() {
  const providers = useCall(async () => (await call("GET", "/admin/providers")).body, []);
  return html`<${View} title="Providers">
    <${Loaded} of=${providers}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label="providers" columns=${COLUMNS} rows=${rows} idOf=${({ name }) => name} />`
          : html`<div class="empty"><p>Nobody logs in by a provider. The setting PROVIDERS, or providers.json, has them.</p></div>`}
    <//>
    <${Curl} path="/admin/providers" />
  <//>`;
}

const COLUMNS = [
  { name: "name", title: "name", render: ({ name }) => name },
  { name: "label", title: "label", render: ({ label }) => label },
  { name: "protocol", title: "protocol", render: ({ protocol }) => protocol },
  { name: "issuer", title: "issuer", render: ({ issuer }) => issuer ?? "" },
  { name: "users", title: "users", render: ({ users }) => users },
];
