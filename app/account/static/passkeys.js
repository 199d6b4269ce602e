// Passkeys: add, name, remove.

import { call } from "../../ostiary/static/api.js";
import { Card, Dialog, Field, Form, notify, Time } from "../../ostiary/static/parts.js";
import { hasPasskeys, makePasskey } from "../../ostiary/static/passkeys.js";
import { html, useState } from "../../ostiary/static/view.js";
import { describeAgent } from "./agents.js";
import { cancel, ConfirmDialog, ProofDialog, Row, Rows } from "./rows.js";

/** The card of the passkeys. */
export function Passkeys({ path, passkeys, kinds, reload }) {
  // The purpose of an open dialog: `{name: "add" | "rename" | "remove", passkey}`.
  const [dialog, open] = useState(null);
  const shared = { path, reload, onClose: () => open(null), ...dialog, kinds };
  const buttons = (passkey) => html`
    <button type="button" aria-label="Rename ${nameOf(passkey)}" onClick=${() => open({ name: "rename", passkey })}>Rename</button>
    <button type="button" aria-label="Remove ${nameOf(passkey)}" onClick=${() => open({ name: "remove", passkey })}>Remove</button>
  `;
  return html`<${Card} title="Passkeys">
    <p>A passkey logs you in by the fingerprint, face or PIN of your device, without a password.</p>
    <${Rows} none="You have none.">
      ${passkeys.map(
        (passkey) => html`<${Row} key=${passkey.id} name=${nameOf(passkey)} badges=${html`<span class="badge">${keptWhere(passkey)}</span>`} actions=${buttons(passkey)}>
          Added <${Time} value=${passkey.created} />, last used <${Time} value=${passkey.lastUsed} />
        <//>`,
      )}
    <//>
    ${hasPasskeys()
      ? html`<button type="button" class="strong" onClick=${() => open({ name: "add" })}>Add a passkey</button>`
      : html`<p class="note">This browser has no passkeys, or has them for https alone.</p>`}
    ${dialog?.name === "add" && html`<${NameDialog} ...${shared} title="Add a passkey" submit="Add" onName=${(name) => add(path, name)} />`}
    ${dialog?.name === "rename" && html`<${NameDialog} ...${shared} title="Rename a passkey" submit="Rename" onName=${(name) => rename(path, dialog.passkey, name)} />`}
    ${dialog?.name === "remove" && html`<${RemoveDialog} ...${shared} />`}
  <//>`;
}

function nameOf(passkey) {
  return passkey.name ?? "Passkey";
}

function keptWhere({ backupEligible, backedUp }) {
  if (backedUp) {
    return "backed up";
  }
  return backupEligible ? "not backed up yet" : "on one device only";
}

async function add(path, name) {
  const options = (await call("POST", `${path}/passkeys/options`, { body: {} })).body;
  const credential = await makePasskey(options);
  await call("POST", `${path}/passkeys`, { body: { name, credential } });
  notify("The passkey is added.");
}

async function rename(path, passkey, name) {
  await call("PATCH", `${path}/passkeys/${passkey.id}`, { body: { name } });
}

function NameDialog({ passkey, title, submit, onName, reload, onClose }) {
  const save = async ({ name }) => {
    await onName(name);
    onClose();
    await reload();
  };
  const name = passkey?.name ?? describeAgent(navigator.userAgent);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} label=${title} submit=${submit} onSubmit=${save} fields=${["name"]} actions=${cancel(onClose)}>
      ${(problem) => html`<${Field} label="Name" name="name" defaultValue=${name} maxlength="100" required hint="To tell it from others." problem=${problem} />`}
    <//>
  <//>`;
}

function RemoveDialog({ path, passkey, kinds, reload, onClose }) {
  const remove = async (proof = {}) => {
    await call("DELETE", `${path}/passkeys/${passkey.id}`, { body: proof });
    notify("The passkey is removed.");
    await reload();
  };
  const shared = {
    title: `Remove ${nameOf(passkey)}?`,
    text: "It logs you in no more. Delete it on your device, too, which would go on offering it.",
    submit: "Remove",
    onClose,
  };
  return kinds.length
    ? html`<${ProofDialog} ...${shared} kinds=${kinds} onProof=${remove} />`
    : html`<${ConfirmDialog} ...${shared} onConfirm=${() => remove()} />`;
}
