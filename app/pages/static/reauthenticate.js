// The dialog that asks a user to authenticate again, before what takes a recent or a strong login.

import { call, onStrongerLogin } from "./api.js";
import { CodeField } from "./login.js";
import { page } from "./page.js";
import { Dialog, Field, Form } from "./parts.js";
import { hasPasskeys, sign } from "./passkeys.js";
import { session } from "./session.js";
import { html, useEffect, useRef, useState } from "./view.js";

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
  const isDone = useRef(false);
  const prove = async (proof) => {
    const path = `/${page.users}/${session().userId}/reauthenticate`;
    await call("POST", path, { body: proof, isFinal: true });
    isDone.current = true;
    onClose(true);
  };
  const bySignature = async () => {
    const options = (await call("POST", `/${page.users}/login/passkey/options`, { body: {} })).body;
    await prove({ credential: await sign(options) });
  };
  const takesCode = kinds.includes("totp") || kinds.includes("recovery");
  const cancel = html`<button type="button" onClick=${() => onClose(false)}>Cancel</button>`;
  return html`<${Dialog} title="Confirm that it is you" onClose=${() => isDone.current || onClose(false)}>
    ${kinds.length === 0 && html`<p>Your account has nothing to confirm it with. Log out and in again.</p>`}
    ${kinds.includes("passkey") &&
    hasPasskeys() &&
    html`<${Form} label="Use a passkey" submit="Use a passkey" onSubmit=${bySignature} />`}
    ${takesCode &&
    html`<${Form} label="Confirm by a code" submit="Confirm" onSubmit=${({ code }) => prove({ code })} fields=${["code"]} actions=${cancel}>
      ${(problem) => html`<${CodeField} label="Code of your authenticator app, or a recovery code" problem=${problem} />`}
    <//>`}
    ${kinds.includes("password") &&
    html`<${Form} label="Confirm by the password" submit="Confirm" onSubmit=${({ password }) => prove({ password })} fields=${["password"]} actions=${cancel}>
      ${(problem) => html`<${Field} label="Password" name="password" type="password" autocomplete="current-password" required problem=${problem} />`}
    <//>`}
    ${!takesCode && !kinds.includes("password") && cancel}
  <//>`;
}
