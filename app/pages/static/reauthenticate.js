// The dialog that asks a user to authenticate again, before what takes a recent or a strong login.

import { call, onStrongerLogin } from "./api.js";
import { page } from "./page.js";
import { Dialog } from "./parts.js";
import { Proofs } from "./proofs.js";
import { session } from "./session.js";
import { html, useEffect, useState } from "./view.js";

/** Where the dialog appears; one in a page. */
export function Reauthentication() {
  const [asked, setAsked] = useState(null);
  useEffect(() => {
    onStrongerLogin((error) => new Promise((answer) => setAsked({ kinds: error.details.kinds, answer })));
  }, []);
  if (!asked) {
    return null;
  }
  const close = (isDone) => {
    setAsked(null);
    asked.answer(isDone);
  };
  return html`<${ProofDialog} kinds=${asked.kinds} onClose=${close} />`;
}

function ProofDialog({ kinds, onClose }) {
  const prove = async (proof) => {
    const path = `/${page.users}/${session().userId}/reauthenticate`;
    await call("POST", path, { body: proof, isFinal: true });
    onClose(true);
  };
  const cancel = html`<button type="button" onClick=${() => onClose(false)}>Cancel</button>`;
  const text = kinds.length
    ? "This changes who can use the account. Your login was some time ago, or was not strong enough."
    : "Your account has nothing to confirm it with. Log out and in again.";
  return html`<${Dialog} title="Confirm that it is you" onClose=${() => onClose(false)}>
    <p>${text}</p>
    <${Proofs} kinds=${kinds} submit="Confirm" onProof=${prove} actions=${cancel} />
  <//>`;
}
