// The emails of users whose ids are shown, loaded together and once.

import { call } from "../../ostiary/static/api.js";
import { useCall } from "../../ostiary/static/parts.js";
import { useAdmin } from "./access.js";

const MAX_IDS = 100;
const known = new Map();
let wanted = new Map();

/** Return the email of a user once it is loaded; nothing for a deleted one. */
export function useEmail(id) {
  const { mayAdmin } = useAdmin();
  return useCall(async () => (id && mayAdmin("findUsers") ? emailOf(id) : undefined), [id]).value;
}

/** Return the promise of an email; all that are requested in one rendering share a call. */
function emailOf(id) {
  if (!known.has(id)) {
    if (wanted.size === 0) {
      setTimeout(ask);
    }
    known.set(id, new Promise((answer) => wanted.set(id, answer)));
  }
  return known.get(id);
}

async function ask() {
  const asked = [...wanted];
  wanted = new Map();
  for (let first = 0; first < asked.length; first += MAX_IDS) {
    await answer(asked.slice(first, first + MAX_IDS));
  }
}

async function answer(asked) {
  const ids = asked.map(([id]) => id);
  const filter = { where: { id: { inq: ids } }, limit: ids.length };
  const users = await call("GET", "/admin/users", { query: { filter } }).then(({ body }) => body, () => []);
  const emails = new Map(users.map(({ id, email }) => [id, email]));
  asked.forEach(([id, resolve]) => resolve(emails.get(id)));
}
