// Authenticator apps: add, list, remove.

import { call } from "../../ostiary/static/api.js";
import { Secret } from "../../ostiary/static/login.js";
import { Card, CopyButton, Dialog, Field, Form, notify, Time } from "../../ostiary/static/parts.js";
import { CodeField } from "../../ostiary/static/proofs.js";
import { withoutEmpty } from "../../ostiary/static/login.js";
import { html, useState } from "../../ostiary/static/view.js";
import { cancel, ProofDialog, Row, Rows } from "./rows.js";

/** The card of the apps. */
export function Apps({ path, apps, kinds, reload }) {
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState(null);
  const remove = async (proof) => {
    await call("DELETE", `${path}/factors/${removed.id}`, { body: proof });
    notify("The authenticator app is removed.");
    await reload();
  };
  return html`<${Card} title="Authenticator apps">
    <p>An app on your phone shows a code every 30 seconds, which a login takes beside the password.</p>
    <${Rows} none="You have none.">
      ${apps.map(
        (app) => html`<${Row} key=${app.id} name=${nameOf(app)} actions=${html`<button type="button" aria-label="Remove ${nameOf(app)}" onClick=${() => setRemoved(app)}>Remove</button>`}>
          Added <${Time} value=${app.created} />, last used <${Time} value=${app.lastUsed} />
        <//>`,
      )}
    <//>
    <button type="button" class="strong" onClick=${() => setAdding(true)}>Add an authenticator app</button>
    ${isAdding && html`<${NewAppDialog} path=${path} reload=${reload} onClose=${() => setAdding(false)} />`}
    ${removed &&
    html`<${ProofDialog} title="Remove ${nameOf(removed)}?" text="Logins take no code of it any more." submit="Remove"
      kinds=${kinds} onProof=${remove} onClose=${() => setRemoved(null)} />`}
  <//>`;
}

function nameOf(app) {
  return app.name ?? "Authenticator app";
}

function NewAppDialog({ path, reload, onClose }) {
  const [made, setMade] = useState(null);
  const make = async (values) =>
    setMade((await call("POST", `${path}/factors/totp`, { body: withoutEmpty(values) })).body);
  const confirm = async ({ code }) => {
    await call("POST", `${path}/factors/totp/confirm`, { body: { code } });
    notify("The authenticator app is added.");
    onClose();
    await reload();
  };
  return html`<${Dialog} title="Add an authenticator app" onClose=${onClose}>
    ${made
      ? html`
          <p>Scan this with the app, and type the code that it shows then.</p>
          <${Secret} made=${made} />
          <p class="center"><${CopyButton} text=${made.secret}>Copy the key<//></p>
          <${Form} key="code" label="Confirm the app" submit="Add" onSubmit=${confirm} fields=${["code"]} actions=${cancel(onClose)}>
            ${(problem) => html`<${CodeField} label="Code that the app shows" problem=${problem} inputmode="numeric" />`}
          <//>
        `
      : html`
          <${Form} key="name" label="Name of the app" submit="Next" onSubmit=${make} fields=${["name"]} actions=${cancel(onClose)}>
            ${(problem) => html`<${Field} label="Name" name="name" maxlength="100" hint="To tell it from others, such as: phone." problem=${problem} />`}
          <//>
        `}
  <//>`;
}
