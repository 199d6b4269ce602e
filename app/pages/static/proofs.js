// The forms by which users prove their identity: password, code or passkey.

import { call } from "./api.js";
import { page } from "./page.js";
import { Field, Form } from "./parts.js";
import { hasPasskeys, sign } from "./passkeys.js";
import { session } from "./session.js";
import { html, useState } from "./view.js";

/** Return the JSON of a signature by a passkey of the user. */
export async function signWithPasskey() {
  const { body } = await call("POST", `/${page.users}/login/passkey/options`, { body: {} });
  return sign(body);
}

/**
 * A form for one of the `kinds`, and buttons for the others; calls `onProof` with the proof.
 *
 * `actions` are further buttons of the form.
 */
export function Proofs({ kinds, submit, onProof, actions }) {
  const ways = Object.keys(WAYS).filter((name) => WAYS[name].isFor(kinds));
  const [chosen, choose] = useState(ways[0]);
  const way = WAYS[chosen];
  const passkey = kinds.includes("passkey") && hasPasskeys();
  const send = async () => onProof({ credential: await signWithPasskey() });
  const others = ways.filter((name) => name !== chosen);
  return html`
    ${way &&
    html`<${Form} key=${chosen} label=${way.label} submit=${submit} onSubmit=${onProof} fields=${[chosen]} actions=${actions}>
      ${(problem) => way.field(problem, kinds)}
    <//>`}
    ${passkey &&
    html`<div class=${way ? "others" : ""}>
      <${Form} label="Passkey" submit="Use a passkey" look=${way ? "" : "strong"} onSubmit=${send} actions=${!way && actions} />
    </div>`}
    ${others.map(
      (name) => html`<p class="others"><button type="button" class="link" onClick=${() => choose(name)}>${WAYS[name].offer}</button></p>`,
    )}
    ${!way && !passkey && html`<div class="buttons">${actions}</div>`}
  `;
}

/** The field of a code, which browsers fill in from messages and password managers. */
export function CodeField(properties) {
  return html`<${Field} name="code" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck=${false} ...${properties} />`;
}

/** The field of the user's current password; password managers are told whose it is. */
export function PasswordField(properties) {
  const email = session()?.email;
  return html`
    ${email && html`<input type="text" autocomplete="username" value=${email} readonly hidden />`}
    <${Field} label="Password" name="password" type="password" autocomplete="current-password" required ...${properties} />
  `;
}

function labelOfCode(kinds) {
  if (!kinds.includes("totp")) {
    return "Recovery code";
  }
  return kinds.includes("recovery")
    ? "Code of your authenticator app, or a recovery code"
    : "Code of your authenticator app";
}

// By the names of their fields.
const WAYS = {
  password: {
    label: "Password",
    offer: "Use your password instead",
    isFor: (kinds) => kinds.includes("password"),
    field: (problem) => html`<${PasswordField} problem=${problem} />`,
  },
  code: {
    label: "Code",
    offer: "Use a code instead",
    isFor: (kinds) => kinds.includes("totp") || kinds.includes("recovery"),
    field: (problem, kinds) => html`<${CodeField} label=${labelOfCode(kinds)} problem=${problem} />`,
  },
};
