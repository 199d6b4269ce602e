// The forms to log in and to register, with the service's errors.

import { usersPath } from "./examples.js";
import { begin } from "./session.js";

const page = document.body.dataset;
const element = (id) => document.getElementById(id);
const NO_ANSWER = { message: "The service does not answer: try again." };

/** Show one form in place of the other. */
function show(id) {
  for (const form of document.querySelectorAll("#account form")) {
    form.hidden = form.id !== id;
    clear(form);
  }
  element(id).elements.email.focus();
}

/** Offer to register, if that is open to everyone, with all required properties. */
export function offerRegistration(original) {
  const operation = original.paths[usersPath(original)]?.post;
  if (!operation) {
    return;
  }
  element("to-register").hidden = operation.security.length > 0;
  const body = operation.requestBody.content["application/json"].schema;
  const name = (body.anyOf?.[0] ?? body).$ref.split("/").at(-1);
  const { required, properties } = original.components.schemas[name];
  const buttons = element("register").querySelector(".buttons");
  for (const each of required.filter((one) => !element("register").elements[one])) {
    buttons.before(field(each, properties[each]));
  }
}

/** Return a labelled input for a property. */
function field(name, schema) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const isNumber = ["number", "integer"].includes(schema.type);
  Object.assign(input, { name, required: true, type: isNumber ? "number" : "text", step: "any" });
  label.append(`${name} `, input);
  return label;
}

/** Return the entered values, with numbers as such and without empty ones. */
function values(form) {
  const inputs = [...form.elements].filter((each) => each.name && each.value);
  return Object.fromEntries(
    inputs.map((each) => [each.name, each.type === "number" ? each.valueAsNumber : each.value]),
  );
}

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body), credentials: "omit" };
  try {
    const response = await fetch(path, request);
    return { ok: response.ok, answer: await response.json() };
  } catch {
    return { ok: false, answer: NO_ANSWER };
  }
}

/** Post the values of a form instead of submitting it; return form, body and response. */
async function submit(event, path) {
  event.preventDefault();
  const form = event.currentTarget;
  clear(form);
  const body = values(form);
  return { form, body, ...(await post(path, body)) };
}

async function logIn(event) {
  const { form, body, ok, answer } = await submit(event, page.login);
  if (ok) {
    start(form, answer, body.email);
  } else {
    tell(form, answer);
  }
}

async function register(event) {
  const { form, body, ok, answer } = await submit(event, page.register);
  if (!ok) {
    tell(form, answer);
    return;
  }
  const { email, password, realm } = body;
  const login = await post(page.login, { email, password, realm });
  if (login.ok) {
    start(form, login.answer, email);
    return;
  }
  form.reset();
  show("login");
  element("login").elements.email.value = email;
  const isUnverified = login.answer.error?.code === "LOGIN_FAILED_EMAIL_NOT_VERIFIED";
  const next = `follow the link in the mail to ${email}, and log in`;
  tell(element("login"), isUnverified ? { message: `You are registered: ${next}.` } : login.answer);
}

function start(form, answer, email) {
  form.elements.password.value = "";
  show("login");
  begin(answer, email);
}

/** Show an error at its fields, the rest above them; move the focus there. */
function tell(form, answer) {
  const messages = Object.entries(answer.error?.details?.messages ?? {});
  const named = messages.filter(([name]) => form.elements[name]);
  for (const [name, texts] of named) {
    mark(form.elements[name], texts.join(", "));
  }
  const others = messages.filter(([name]) => !form.elements[name]);
  const rest = others.map(([name, texts]) => `${name} ${texts.join(", ")}`).join("; ");
  const problem = form.querySelector(".problem");
  problem.textContent = named.length ? rest : rest || answer.message;
  (named.length ? form.elements[named[0][0]] : problem).focus();
}

function mark(input, text) {
  const note = document.createElement("small");
  Object.assign(note, { id: `${input.form.id}-${input.name}-problem`, textContent: text });
  note.setAttribute("role", "alert");
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", note.id);
  input.parentElement.append(note);
}

function clear(form) {
  form.querySelector(".problem").textContent = "";
  form.querySelectorAll("label small").forEach((each) => each.remove());
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}

element("login").addEventListener("submit", logIn);
element("register").addEventListener("submit", register);
element("to-register").addEventListener("click", () => show("register"));
element("to-login").addEventListener("click", () => show("login"));
