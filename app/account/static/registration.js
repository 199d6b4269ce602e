// The form of a registration, with every required property of users.

import { call } from "../../ostiary/static/api.js";
import { LOGIN, RealmField } from "../../ostiary/static/login.js";
import { page } from "../../ostiary/static/page.js";
import { Field, Form, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";

const OWN = ["realm", "email", "password"];

/** The form; a registration is followed by a login, by `first`. */
export function RegistrationForm({ first }) {
  const properties = useCall(requiredProperties, []).value ?? [];
  const register = async (values) => {
    const { email, password, realm } = values;
    const body = Object.fromEntries(
      Object.entries(values)
        .filter(([, value]) => value)
        .map(([name, text]) => [name, OWN.includes(name) ? text : valueOf(text, properties, name)]),
    );
    await call("POST", `/${page.users}`, { body });
    await first(LOGIN, { email, password, realm });
  };
  const fields = [...OWN, ...properties.map(({ name }) => name)];
  const hint = `At least ${page.passwordMinLength} characters.`;
  return html`<${Form} label="Register" submit="Register" onSubmit=${register} fields=${fields}>
    ${(problem) => html`
      <${RealmField} problem=${problem} />
      <${Field} label="Email" name="email" type="email" autocomplete="username" required problem=${problem} />
      <${Field} label="Password" name="password" type="password" autocomplete="new-password" required hint=${hint} problem=${problem} />
      ${properties.map((property) => html`<${PropertyField} key=${property.name} ...${property} problem=${problem} />`)}
    `}
  <//>`;
}

/** Return the required properties of a registration, with their schemas in the OpenAPI document. */
async function requiredProperties() {
  const document = await (await fetch(page.document)).json();
  const { content } = document.paths[`/${page.users}`].post.requestBody;
  const { schema } = content["application/json"];
  const name = (schema.anyOf?.[0] ?? schema).$ref.split("/").at(-1);
  const { required, properties } = document.components.schemas[name];
  return Object.entries(properties)
    .filter(([one]) => required.includes(one) && !OWN.includes(one))
    .map(([one, property]) => ({ name: one, schema: property }));
}

function PropertyField({ name, schema, problem }) {
  const choices = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : null);
  const select = (shared) => html`<select ...${shared} required>
    <option value=""></option>
    ${choices.map((choice) => html`<option>${choice}</option>`)}
  </select>`;
  const type = isNumber(schema) ? "number" : "text";
  return choices
    ? html`<${Field} label=${name} name=${name} problem=${problem}>${select}<//>`
    : html`<${Field} label=${name} name=${name} type=${type} step="any" required problem=${problem} />`;
}

function valueOf(text, properties, name) {
  const { schema } = properties.find((property) => property.name === name);
  if (isNumber(schema)) {
    return Number(text);
  }
  return schema.type === "boolean" ? text === "true" : text;
}

function isNumber(schema) {
  return ["number", "integer"].includes(schema.type);
}
