// The record of the logged-in user.

import { call } from "../../ostiary/static/api.js";

/** Return the user at a path, and the tag of what was read. */
export async function readUser(path) {
  const { body, headers } = await call("GET", path);
  // A proxy that compresses responses marks the tag as weak, and a weak one matches nothing.
  return { user: body, etag: headers.get("ETag")?.replace(/^W\//, "") };
}

/**
 * Change values of a user who was read before.
 *
 * Values that somebody else has changed meanwhile are kept, unless they are the same ones: then
 * nothing is changed, and the error has `conflicts`, the present values by name.
 */
export async function changeUser(path, values, { user, etag }) {
  try {
    await patch(path, values, etag);
  } catch (error) {
    if (error.status !== 412) {
      throw error;
    }
    const now = await readUser(path);
    const conflicts = Object.keys(values)
      .filter((name) => JSON.stringify(now.user[name]) !== JSON.stringify(user[name]))
      .map((name) => [name, now.user[name]]);
    if (conflicts.length) {
      throw Object.assign(error, { conflicts: Object.fromEntries(conflicts) });
    }
    await patch(path, values, now.etag);
  }
}

async function patch(path, body, etag) {
  await call("PATCH", path, { body, headers: etag ? { "If-Match": etag } : {} });
}
