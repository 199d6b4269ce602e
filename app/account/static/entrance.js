// The forms for users who are not logged in: login, registration, a forgotten password.

import { call } from "../../ostiary/static/api.js";
import { Login, RealmField, withoutEmpty } from "../../ostiary/static/login.js";
import { page } from "../../ostiary/static/page.js";
import { Field, Form } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { Bar, useTitle } from "./navigation.js";
import { RegistrationForm } from "./registration.js";

/** The view with this name; by default the login. */
export function Entrance({ view }) {
  const isKnown = view === "forgotten" || (view === "register" && page.registration);
  const View = isKnown ? VIEWS[view] : LoginView;
  return html`<${Bar} /><main><${View} key=${view} /></main>`;
}

function LoginView() {
  useTitle("Log in");
  return html`<${Login} title="Log in">
    ${page.providers.length > 0 &&
    html`<p class="others">${page.providers.map(({ label, path }) => html`<a class="button" href=${path}>${label}</a>`)}</p>`}
    <p class="others">
      <a href="#forgotten">Forgot your password?</a>
      ${page.registration && html`<a href="#register">Register</a>`}
    </p>
  <//>`;
}

function RegisterView() {
  useTitle("Register");
  return html`<${Login} title="Register" First=${RegistrationForm}>
    <p class="others"><a href="#">Log in instead</a></p>
  <//>`;
}

function ForgottenView() {
  useTitle("Forgot your password?");
  const [email, setEmail] = useState("");
  const ask = async (values) => {
    const body = withoutEmpty(values);
    await call("POST", `/${page.users}/reset`, { body });
    setEmail(body.email);
  };
  return html`<section class="card narrow">
    <h1>Forgot your password?</h1>
    ${email
      ? html`<p role="status">If ${email} is the address of an account, a link to set a new password is on its way. Look into your mailbox.</p>`
      : html`
          <p>We mail you a link, by which you set a new one.</p>
          <${Form} label="Forgotten password" submit="Mail a link" onSubmit=${ask} fields=${["email", "realm"]}>
            ${(problem) => html`
              <${RealmField} problem=${problem} />
              <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
            `}
          <//>
        `}
    <p class="others"><a href="#">Back to the login</a></p>
  </section>`;
}

const VIEWS = { register: RegisterView, forgotten: ForgottenView };
