// The dialogs that ask for what a call requires first: a recent or a strong login, or a proof
// of the email address.

import { AddressProof } from "./address_proof.js";
import { call, onAnswer } from "./api.js";
import { page } from "./page.js";
import { Dialog } from "./parts.js";
import { Proofs } from "./proofs.js";
import { session } from "./session.js";
import { html, useEffect, useState } from "./view.js";

/** The place of the dialogs; one in a page. */
export function Reauthentication() {
  const [asked, setAsked] = useState(null);
  useEffect(() => {
    for (const code of Object.keys(DIALOGS)) {
      onAnswer(code, ({ details }) => new Promise((answer) => setAsked({ code, details, answer })));
    }
  }, []);
  if (!asked) {
    return null;
  }
  const close = (isDone) => {
    setAsked(null);
    asked.answer(isDone);
  };
  const Shown = DIALOGS[asked.code];
  return html`<${Shown} ...${asked.details} onClose=${close} />`;
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

function AddressDialog({ email, onClose }) {
  const address = email ?? session().email;
  const text = address ? `First show that ${address} is your address.` : "First show that the address of your account is yours.";
  const cancel = html`<button type="button" onClick=${() => onClose(false)}>Cancel</button>`;
  return html`<${Dialog} title="Confirm your address" onClose=${() => onClose(false)}>
    <${AddressProof} text=${text} email=${email} optionsOf=${(body) => ({ body })} onProof=${() => onClose(true)} actions=${cancel} />
  <//>`;
}

// By the code of the error.
const DIALOGS = { STRONGER_LOGIN_REQUIRED: ProofDialog, EMAIL_PROOF_REQUIRED: AddressDialog };
