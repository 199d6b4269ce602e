// The login of a page: password, mailed code or passkey, and the second step if there is one.

import { AddressProof } from "./address_proof.js";
import { call } from "./api.js";
import { page } from "./page.js";
import { Field, Form, notify } from "./parts.js";
import { hasPasskeys } from "./passkeys.js";
import { CodeField, PasswordField, Proofs, signWithPasskey } from "./proofs.js";
import { begin, endReason } from "./session.js";
import { html, useEffect, useRef, useState } from "./view.js";

/** The path of the login in the API. */
export const LOGIN = `/${page.users}/login`;
// The first step of a login.
const FIRST = "first";
const WRONG = {
  password: "The email or the password is wrong.",
  passkey: "This passkey logs nobody in here.",
  code: "The code is wrong, or too old.",
  provider: "The login by the other service has failed.",
  taken: "There is an account with this address already: log in as you have before.",
};
const TITLES = {
  mail: "Log in by mail",
  mailedCode: "Log in by mail",
  factor: "Second factor",
  enrolment: "Add a second factor",
  proof: "Confirm your address",
  unverified: "Confirm your address",
};

/**
 * The forms of a login, one after the other.
 *
 * `First` is another first form, such as that of a registration, which ends with a login; `children`
 * are shown below it.
 */
export function Login({ title, First = PasswordForm, children }) {
  const [step, setStep] = useState({ name: FIRST });
  const [email, setEmail] = useState("");
  const card = useRef();
  const told = useProviderError(setStep);
  useEffect(() => {
    if (step.name !== FIRST) {
      card.current.querySelector("input:not([type=hidden]), button")?.focus();
    }
  }, [step]);

  const finish = ({ body }) => begin(body, email);
  /** Do the first step of a login, and the second if required; `wrong` is the message for a failure. */
  const first = async (path, body, { name = body.email ?? "", wrong } = {}) => {
    setEmail(name);
    try {
      begin((await call("POST", path, { body })).body, name);
    } catch (error) {
      const next = STEPS[error.code];
      if (!next) {
        error.message = (error.code === "LOGIN_FAILED" && wrong) || error.message;
        throw error;
      }
      setStep({ ...(await next(error.details)), email: name });
    }
  };
  const Step = FORMS[step.name] ?? First;
  return html`<section class="card narrow" ref=${card}>
    <h1>${TITLES[step.name] ?? title}</h1>
    ${step.name === FIRST && told && html`<p class="problem" role="alert">${told}</p>`}
    <${Step} ...${{ first, finish, step, setStep }} />
    ${step.name === FIRST && children}
  </section>`;
}

// The next step for an error's code, from its details.
const STEPS = {
  LOGIN_FAILED_EMAIL_NOT_VERIFIED: async ({ userId }) => ({ name: "unverified", userId }),
  SECOND_FACTOR_REQUIRED: async (details) => ({ name: "factor", ...details }),
  SECOND_FACTOR_ENROLMENT_REQUIRED: async ({ ticket }) => {
    try {
      return await enrol(ticket);
    } catch (error) {
      if (error.code !== "EMAIL_PROOF_REQUIRED") {
        throw error;
      }
      return { name: "proof", ticket };
    }
  },
};

/** Add a second factor; return the step that confirms it. */
async function enrol(ticket) {
  const { body } = await call("POST", `${LOGIN}/enrol`, { ...withTicket(ticket), isFinal: true });
  return { name: "enrolment", ticket, made: body };
}

/** Return the options of a call of the second step; without a ticket, a cookie has it. */
function withTicket(ticket, body = {}) {
  return ticket ? { body: { ticket, ...body } } : { body, credentials: "same-origin" };
}

/** Continue a login by an identity provider that has redirected here; return its error. */
function useProviderError(setStep) {
  const [told, tell] = useState("");
  useEffect(() => {
    const code = new URLSearchParams(location.search).get("error");
    if (!code) {
      return;
    }
    // Only once, not again when the page is reloaded.
    history.replaceState(null, "", location.pathname + location.hash);
    const next = code.startsWith("SECOND_FACTOR_") && STEPS[code];
    const failed = code === "ACCOUNT_EXISTS" ? WRONG.taken : WRONG.provider;
    const go = next ? next({ kinds: ["totp", "recovery", "passkey"] }).then(setStep) : Promise.reject();
    go.catch(() => tell(failed));
  }, []);
  return told;
}

function PasswordForm({ first, setStep }) {
  const logIn = (values) => first(LOGIN, withoutEmpty(values), { wrong: WRONG.password });
  const byPasskey = async () => first(`${LOGIN}/passkey`, { credential: await signWithPasskey() }, { wrong: WRONG.passkey });
  const passkey = page.passkeys && hasPasskeys();
  return html`
    ${endReason() && html`<p class="note" role="status">${endReason()}</p>`}
    <${Form} label="Log in" submit="Log in" onSubmit=${logIn} fields=${["email", "password", "realm"]}>
      ${(problem) => html`
        <${RealmField} problem=${problem} />
        <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
        <${PasswordField} problem=${problem} />
      `}
    <//>
    ${(passkey || page.mailedCodes) &&
    html`<div class="others">
      ${passkey && html`<${Form} label="Log in with a passkey" submit="Log in with a passkey" look="" onSubmit=${byPasskey} />`}
      ${page.mailedCodes &&
      html`<button type="button" onClick=${() => setStep({ name: "mail" })}>Mail me a code</button>`}
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
      <${RealmField} problem=${problem} />
      <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
    `}
  <//>`;
}

function MailedCodeForm({ first, step, setStep }) {
  const send = ({ code }) => first(`${LOGIN}/mail/confirm`, { ticket: step.ticket, code }, { name: step.email, wrong: WRONG.code });
  return html`
    <p>If ${step.email} is the address of an account, a code is on its way. It works for ten minutes, on this page.</p>
    <${Form} label="Code of the mail" submit="Log in" onSubmit=${send} fields=${["code"]} actions=${back(setStep)}>
      ${(problem) => html`<${CodeField} label="Code of the mail" problem=${problem} inputmode="numeric" />`}
    <//>
  `;
}

function FactorForm({ finish, step, setStep }) {
  const { ticket, kinds } = step;
  const send = async (proof) => finish(await call("POST", `${LOGIN}/factor`, withTicket(ticket, proof)));
  return html`
    <p>Your account has a second factor.</p>
    <${Proofs} kinds=${kinds} submit="Log in" onProof=${send} actions=${back(setStep)} />
  `;
}

function ProofForm({ step, setStep }) {
  const { ticket } = step;
  const goOn = async () => setStep(await enrol(ticket));
  const text = "Your account must have a second factor. First show that the address of the account is yours.";
  return html`<${AddressProof} text=${text} optionsOf=${(body) => withTicket(ticket, body)} onProof=${goOn} actions=${back(setStep)} />`;
}

function EnrolmentForm({ finish, step, setStep }) {
  const { ticket, made } = step;
  const send = async ({ code }) => finish(await call("POST", `${LOGIN}/factor`, withTicket(ticket, { code })));
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
  // An image element, because an SVG in it runs no script and loads nothing.
  const picture = `data:image/svg+xml;utf8,${encodeURIComponent(made.svg)}`;
  return html`<div class="secret">
    <img src=${picture} width="200" height="200" alt="QR code for an authenticator app" />
    <p class="open"><a class="button" href=${made.uri}>Open in an authenticator app</a></p>
    <p>Or type this key: <code>${made.secret.replace(/.{4}(?=.)/g, "$& ")}</code></p>
  </div>`;
}

function UnverifiedNote({ step, setStep }) {
  const mail = async () => {
    await call("POST", `/${page.users}/${step.userId}/verify`, { body: {} });
    notify("A new link is on its way.");
  };
  return html`
    <p>Follow the link in the mail to ${step.email}, and log in. It shows that the address is yours.</p>
    <${Form} label="Confirm your address" submit="Mail a new link" look="" onSubmit=${mail} actions=${back(setStep)} />
  `;
}

/** The field of the realm, if logins need one. */
export function RealmField({ problem }) {
  return page.realmRequired && html`<${Field} label="Realm" name="realm" required problem=${problem} />`;
}

function back(setStep) {
  return html`<button type="button" onClick=${() => setStep({ name: FIRST })}>Back</button>`;
}

/** Return the values of a submitted form. */
export function withoutEmpty(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value));
}

const FORMS = {
  mail: MailForm,
  mailedCode: MailedCodeForm,
  factor: FactorForm,
  enrolment: EnrolmentForm,
  proof: ProofForm,
  unverified: UnverifiedNote,
};
