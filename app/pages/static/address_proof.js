// The form by which a user proves an email address with a mailed code.

import { call } from "./api.js";
import { page } from "./page.js";
import { Action, Form, notify } from "./parts.js";
import { CodeField } from "./proofs.js";
import { html, useEffect, useRef, useState } from "./view.js";

const PATH = `/${page.users}/email-code`;

/**
 * The form; calls `onProof` when the address is proved.
 *
 * `text` says whose address it is, `email` is a new one, `optionsOf` makes the options of a call
 * from its body, and `actions` are further buttons.
 */
export function AddressProof({ text, email, optionsOf, onProof, actions }) {
  const [isMailed, setMailed] = useState(false);
  const place = useRef();
  useEffect(() => {
    if (isMailed) {
      place.current.querySelector("input").focus();
    }
  }, [isMailed]);
  const mail = async () => {
    await call("POST", PATH, { ...optionsOf(email ? { email } : {}), isFinal: true });
    setMailed(true);
  };
  const mailAgain = async () => {
    await mail();
    notify("Another code is on its way.");
  };
  const confirm = async ({ code }) => {
    await call("POST", `${PATH}/confirm`, { ...optionsOf({ code }), isFinal: true });
    await onProof();
  };
  if (!isMailed) {
    return html`
      <p>${text} We mail a code to it.</p>
      <${Form} key="mail" label="Mail a code" submit="Mail a code" onSubmit=${mail} actions=${actions} />
    `;
  }
  return html`<div ref=${place}>
    <p>A code is on its way. It works for ten minutes.</p>
    <${Form} key="code" label="Code of the mail" submit="Confirm" onSubmit=${confirm} fields=${["code"]} actions=${actions}>
      ${(problem) => html`<${CodeField} label="Code of the mail" problem=${problem} />`}
    <//>
    <p class="others"><${Action} className="link" onClick=${mailAgain}>Mail another code<//></p>
  </div>`;
}
