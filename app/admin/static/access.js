// The caller's permissions, and the models of the service, which every view needs.

import { call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { createContext, html, useContext } from "../../ostiary/static/view.js";
import { hrefOf } from "./address.js";

/** The model of users, whose rows have a view of their own. */
export const USERS = { name: "users" };

const Known = createContext(null);

/** Provides the result of `loadAdmin` to the views inside. */
export const AdminProvider = Known.Provider;

/** Return the caller's permissions, and the models. */
export function useAdmin() {
  return useContext(Known);
}

/**
 * Load the caller's permissions, and the models of the service.
 *
 * `may` returns whether a method of a model may be called, `mayAdmin` one of the
 * admin's, `mayUsers` one of users; `model` returns the model with a name.
 */
export async function loadAdmin() {
  const access = (await call("GET", "/admin/access")).body;
  const may = (model, method) => (access.methods[model] ?? []).includes(method);
  const mayAdmin = (method) => may("admin", method);
  const found = mayAdmin("findModels") ? (await call("GET", "/admin/models")).body : [];
  const models = found.map((model) => ({ ...model, path: `/${model.path}` }));
  return {
    access,
    models,
    may,
    mayAdmin,
    mayUsers: (method) => may("users", method),
    model: (name) => models.find((model) => model.name === name),
  };
}

/** Return the segments of a row's view; undefined if the caller may not open it. */
export function viewOfRow({ may, mayAdmin }, model, id) {
  // Everybody may read the own user, which does not permit views of others.
  if (model.name === USERS.name) {
    return mayAdmin("findUserById") ? ["users", String(id)] : undefined;
  }
  return may(model.name, "findById") ? ["rows", model.name, String(id)] : undefined;
}

/** A link to a row's view; its text alone if the caller may not open it. */
export function RowLink({ model, id, class: name, children }) {
  const view = viewOfRow(useAdmin(), model, id);
  return view ? html`<a class=${name} href=${hrefOf(view)}>${children}</a>` : children;
}

/** Return the names of the models that are file stores, if the caller may list their containers. */
export function storesOf({ access, may }) {
  return Object.keys(access.methods).filter((name) => may(name, "getContainers"));
}

/** Return the path of a role of a user. */
export function rolePath(userId, role) {
  return `/admin/users/${encodeURIComponent(userId)}/roles/${encodeURIComponent(role)}`;
}

/** Return the path of a user in the API. */
export function userPath(user, rest = "") {
  const users = page.userModels[user.principalType]?.path ?? page.users;
  return `/${users}/${encodeURIComponent(user.id)}${rest}`;
}

/** Return the model of a user, of which there may be several. */
export function modelOf(user, { model }) {
  return model(page.userModels[user.principalType]?.resource ?? "users");
}
