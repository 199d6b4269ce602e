// The profile: the email address, the password, and properties that the project has declared.

import { call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { Action, Card, Field, Form, notify, Time } from "../../ostiary/static/parts.js";
import { PasswordField } from "../../ostiary/static/proofs.js";
import { withoutEmpty } from "../../ostiary/static/login.js";
import { html, useState } from "../../ostiary/static/view.js";

// Loaded only if the project has declared properties of users.
const Details = page.userProperties.length > 0 && (await import("./details.js")).Details;

/** The view. */
export function Profile({ path, user, etag, reload }) {
  return html`
    <${Card} title="Account">
      <dl>
        <dt>Email</dt>
        <dd>${user.email} ${page.asksForConfirmation && html`<${Verified} path=${path} isVerified=${user.emailVerified} />`}</dd>
        ${user.username && html`<dt>Username</dt><dd>${user.username}</dd>`}
        <dt>Registered</dt>
        <dd><${Time} value=${user.created} /></dd>
      </dl>
    <//>
    ${Details && html`<${Details} ...${{ path, user, etag, reload }} />`}
    <${EmailForm} path=${path} user=${user} reload=${reload} />
    <${PasswordForm} user=${user} />
  `;
}

function Verified({ path, isVerified }) {
  const mail = async () => {
    await call("POST", `${path}/verify`, { body: {} });
    notify("A link to confirm the address is on its way.");
  };
  return isVerified
    ? html`<span class="badge good">confirmed</span>`
    : html`<span class="badge bad">not confirmed</span> <${Action} className="link" onClick=${mail}>Mail a link<//>`;
}

function EmailForm({ path, user, reload }) {
  const [asked, setAsked] = useState("");
  const isConfirmed = page.emailChange === "confirmed";
  const change = async ({ email, password }) => {
    if (isConfirmed) {
      const body = { newEmail: email, password };
      await call("POST", `/${page.users}/change-email`, { body }).catch(namedAsHere);
      // An address that was proved by a code is changed at once.
      const isChanged = (await call("GET", path)).body.email !== user.email;
      setAsked(isChanged ? "" : email);
      if (!isChanged) {
        return;
      }
    } else {
      await call("PATCH", path, { body: withoutEmpty({ email, password }) });
    }
    notify("Your email address is changed.");
    await reload();
  };
  return html`<${Card} title="Change the email address">
    ${asked && html`<p class="note" role="status">A link is on its way to ${asked}. Open it to make this your address; you are logged out everywhere then.</p>`}
    <${Form} label="Email address" submit="Change the address" onSubmit=${change} fields=${["email", "password"]} isEmptied>
      ${(problem) => html`
        <${Field} label="New email address" name="email" type="email" autocomplete="email" required problem=${problem} />
        <${PasswordField} required=${isConfirmed} problem=${problem} hint=${isConfirmed ? "" : "Needed if you logged in more than five minutes ago."} />
      `}
    <//>
  <//>`;
}

/** Throw an error of the call under the name of the form's field. */
function namedAsHere(error) {
  const { newEmail: email, ...others } = error.fields;
  error.fields = email ? { ...others, email } : others;
  throw error;
}

function PasswordForm({ user }) {
  const change = async (body) => {
    await call("POST", `/${page.users}/change-password`, { body });
    notify("Your password is changed, and your other sessions have ended.");
  };
  const mail = async () => {
    await call("POST", `/${page.users}/reset`, { body: withoutEmpty({ email: user.email, realm: user.realm }) });
    notify(`A link to set a new password is on its way to ${user.email}.`);
  };
  return html`<${Card} title="Change the password">
    <${Form} label="Password" submit="Change the password" onSubmit=${change} fields=${["oldPassword", "newPassword"]} isEmptied>
      ${(problem) => html`
        <${PasswordField} label="Present password" name="oldPassword" problem=${problem} />
        <${Field} label="New password" name="newPassword" type="password" autocomplete="new-password" required problem=${problem} hint="At least ${page.passwordMinLength} characters. Your other sessions end." />
      `}
    <//>
    <p class="others"><${Action} className="link" onClick=${mail}>I have none, or forgot it: mail me a link<//></p>
  <//>`;
}
