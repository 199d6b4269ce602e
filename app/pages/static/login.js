// The login of a page: password, mailed code or passkey, and the second step where there is one.

import { call } from "./api.js";
import { page } from "./page.js";
import { Field, Form } from "./parts.js";
import { hasPasskeys, sign } from "./passkeys.js";
import { begin, endReason } from "./session.js";
import { html, useEffect, useRef, useState } from "./view.js";

const LOGIN = `/${page.users}/login`;

/** The forms of a login, one after the other; `children` are further ways below the first. */
export function Login({ title, children }) {
  const [step, setStep] = useState({ name: "password" });
  const [email, setEmail] = useState("");
  const heading = useRef();
  useEffect(() => {
    // A new form is read from its beginning.
    if (step.name !== "password") {
      heading.current?.focus();
    }
  }, [step]);

  const finish = ({ body }) => begin(body, email);
  /** Do the first step of a login, and go on where it takes a second one. */
  const first = async (path, body, name = body.email ?? "") => {
    setEmail(name);
    try {
      begin((await call("POST", path, { body })).body, name);
    } catch (error) {
      const next = STEPS[error.code];
      if (!next) {
        throw error;
      }
      setStep({ ...(await next(error.details)), email: name });
    }
  };
  const byPasskey = async () => {
    const options = (await call("POST", `${LOGIN}/passkey/options`, { body: {} })).body;
    await first(`${LOGIN}/passkey`, { credential: await sign(options) }, "");
  };
  const shared = { first, finish, step, setStep, byPasskey };
  const Step = FORMS[step.name];
  return html`<section class="card">
    <h1 ref=${heading} tabindex="-1">${title}</h1>
    <${Step} ...${shared} />
    ${step.name === "password" && children}
  </section>`;
}

// What a code of an error leads to, from its details.
const STEPS = {
  SECOND_FACTOR_REQUIRED: async (details) => ({ name: "factor", ...details }),
  SECOND_FACTOR_ENROLMENT_REQUIRED: async ({ ticket }) => {
    const { body } = await call("POST", `${LOGIN}/enrol`, { body: { ticket } });
    return { name: "enrolment", ticket, made: body };
  },
};

function PasswordForm({ first, setStep, byPasskey }) {
  const logIn = (values) => first(LOGIN, withoutEmpty(values));
  const passkey = page.passkeys && hasPasskeys();
  return html`
    ${endReason() && html`<p class="note" role="status">${endReason()}</p>`}
    <${Form} label="Log in" submit="Log in" onSubmit=${logIn} fields=${["email", "password", "realm"]}>
      ${(problem) => html`
        ${page.realmRequired && html`<${Field} label="Realm" name="realm" required problem=${problem} />`}
        <${Field} label="Email" name="email" type="email" autocomplete="username webauthn" required problem=${problem} />
        <${Field} label="Password" name="password" type="password" autocomplete="current-password" required problem=${problem} />
      `}
    <//>
    ${(passkey || page.mailedCodes) &&
    html`<div class="others">
      ${passkey && html`<${Form} label="Log in with a passkey" submit="Log in with a passkey" onSubmit=${byPasskey} />`}
      ${page.mailedCodes &&
      html`<button type="button" onClick=${() => setStep({ name: "mail" })}>Log in with a mailed code</button>`}
    </div>`}
  `;
}

function MailForm({ setStep }) {
  const ask = async (values) => {
    const body = withoutEmpty(values);
    const { ticket } = (await call("POST", `${LOGIN}/mail`, { body })).body;
    setStep({ name: "mailedCode", ticket, email: body.email });
  };
  return html`<${Form} label="Mail a code" submit="Mail a code" onSubmit=${ask} fields=${["email", "realm"]} actions=${back(setStep)}>
    ${(problem) => html`
      ${page.realmRequired && html`<${Field} label="Realm" name="realm" required problem=${problem} />`}
      <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
    `}
  <//>`;
}

function MailedCodeForm({ first, step, setStep }) {
  const send = ({ code }) => first(`${LOGIN}/mail/confirm`, { ticket: step.ticket, code }, step.email);
  return html`
    <p>If ${step.email} is the address of an account, a code is on its way. It works for ten minutes, on this page.</p>
    <${Form} label="Code of the mail" submit="Log in" onSubmit=${send} fields=${["code"]} actions=${back(setStep)}>
      ${(problem) => html`<${CodeField} label="Code of the mail" problem=${problem} inputmode="numeric" />`}
    <//>
  `;
}

function FactorForm({ finish, step, setStep }) {
  const { ticket, kinds } = step;
  const send = async (proof) => finish(await call("POST", `${LOGIN}/factor`, { body: { ticket, ...proof } }));
  const bySignature = async () => {
    const options = (await call("POST", `${LOGIN}/passkey/options`, { body: {} })).body;
    await send({ credential: await sign(options) });
  };
  const takesCode = kinds.includes("totp") || kinds.includes("recovery");
  const label = kinds.includes("totp")
    ? "Code of your authenticator app, or a recovery code"
    : "Recovery code";
  return html`
    <p>Your account has a second factor.</p>
    ${kinds.includes("passkey") &&
    hasPasskeys() &&
    html`<${Form} label="Use a passkey" submit="Use a passkey" onSubmit=${bySignature} />`}
    ${takesCode &&
    html`<${Form} label="Second factor" submit="Log in" onSubmit=${({ code }) => send({ code })} fields=${["code"]} actions=${back(setStep)}>
      ${(problem) => html`<${CodeField} label=${label} problem=${problem} />`}
    <//>`}
  `;
}

function EnrolmentForm({ finish, step, setStep }) {
  const { ticket, made } = step;
  const send = async ({ code }) => finish(await call("POST", `${LOGIN}/factor`, { body: { ticket, code } }));
  return html`
    <p>Your account must have a second factor. Add it to an authenticator app on your phone:</p>
    <${Secret} made=${made} />
    <${Form} label="Confirm the app" submit="Log in" onSubmit=${send} fields=${["code"]} actions=${back(setStep)}>
      ${(problem) => html`<${CodeField} label="Code that the app shows" problem=${problem} inputmode="numeric" />`}
    <//>
  `;
}

/** The secret of a new authenticator app, as a QR code and as a text to type. */
export function Secret({ made }) {
  const picture = `data:image/svg+xml;utf8,${encodeURIComponent(made.svg)}`;
  return html`<div class="secret">
    <img src=${picture} width="200" height="200" alt="QR code for an authenticator app" />
    <p>Or type this key: <code>${made.secret.replace(/.{4}(?=.)/g, "$& ")}</code></p>
  </div>`;
}

/** The field of a code, which browsers fill in from messages and password managers. */
export function CodeField(properties) {
  return html`<${Field} name="code" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck=${false} ...${properties} />`;
}

function back(setStep) {
  return html`<button type="button" onClick=${() => setStep({ name: "password" })}>Back</button>`;
}

function withoutEmpty(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value));
}

const FORMS = {
  password: PasswordForm,
  mail: MailForm,
  mailedCode: MailedCodeForm,
  factor: FactorForm,
  enrolment: EnrolmentForm,
};
