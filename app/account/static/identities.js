// Logins by identity providers: list, remove.

import { call } from "../../ostiary/static/api.js";
import { Card, notify, Time } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { ConfirmDialog, Row, Rows } from "./rows.js";

/** The card of the identities. */
export function Identities({ path, identities, reload }) {
  const [removed, setRemoved] = useState(null);
  const remove = async () => {
    await call("DELETE", `${path}/identities/${removed.id}`);
    notify("The login is removed.");
    await reload();
  };
  return html`<${Card} title="Logins by other services">
    <${Rows} none="You have none.">
      ${identities.map(
        (identity) => html`<${Row} key=${identity.id} name=${identity.provider} actions=${html`<button type="button" aria-label="Remove ${identity.provider}" onClick=${() => setRemoved(identity)}>Remove</button>`}>
          ${identity.profile?.email ?? identity.profile?.name ?? identity.subject}, added <${Time} value=${identity.created} />, last used <${Time} value=${identity.lastUsed} />
        <//>`,
      )}
    <//>
    ${removed &&
    html`<${ConfirmDialog} title="Remove the login by ${removed.provider}?" text="It logs you in no more." submit="Remove"
      onConfirm=${remove} onClose=${() => setRemoved(null)} />`}
  <//>`;
}
