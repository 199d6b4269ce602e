// The form of a registration, with every required property of users.

import { call } from "../../ostiary/static/api.js";
import { LOGIN, RealmField, withoutEmpty } from "../../ostiary/static/login.js";
import { page } from "../../ostiary/static/page.js";
import { Field, Form } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";

const NONE = { names: [], fields: () => null, values: () => ({}) };
// Loaded only if the project has declared properties that users must have.
const useRequiredProperties = page.requiresProperties
  ? (await import("./required_properties.js")).useRequiredProperties
  : () => NONE;

/** The form; a registration is followed by a login, by `first`. */
export function RegistrationForm({ first }) {
  const required = useRequiredProperties();
  const register = async ({ email, password, realm }) => {
    const body = { ...withoutEmpty({ email, password, realm }), ...required.values() };
    await call("POST", `/${page.users}`, { body });
    await first(LOGIN, { email, password, realm });
  };
  const fields = ["realm", "email", "password", ...required.names];
  const hint = `At least ${page.passwordMinLength} characters.`;
  return html`<${Form} label="Register" submit="Register" onSubmit=${register} fields=${fields}>
    ${(problem) => html`
      <${RealmField} problem=${problem} />
      <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
      <${Field} label="Password" name="password" type="password" autocomplete="new-password" required hint=${hint} problem=${problem} />
      ${required.fields(problem)}
    `}
  <//>`;
}
