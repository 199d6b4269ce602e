// The session of a page: in memory and sessionStorage, so that it ends with the tab. After a login
// by an identity provider it is in cookies; scripts can read the one with the user's id.

import { page } from "./page.js";

const KEY = "ostiary.session";
const CHECK_MILLISECONDS = 5000;

const watchers = new Set();
let reason = "";
let lastActivity = Date.now();
let current = read() ?? readCookie();

/** Return the session: token ("" if a cookie has it), userId, email and when it expires; or null. */
export function session() {
  return current;
}

/** Return the `credentials` and headers of a request in the session. */
export function authentication() {
  const isCookie = current?.token === "";
  const headers = current?.token ? { Authorization: current.token } : {};
  return { credentials: isCookie ? "same-origin" : "omit", headers };
}

/** Return why the last session ended, if the user did not end it. */
export function endReason() {
  return reason;
}

/** Call a function at every login and logout; returns a function that stops this. */
export function watchSession(callback) {
  watchers.add(callback);
  return () => watchers.delete(callback);
}

/** Begin a session with the response of a login. */
export function begin(answer, email = "") {
  const expires = Date.now() + answer.ttl * 1000;
  lastActivity = Date.now();
  keep({ token: answer.id, userId: answer.userId, email, expires }, "");
}

/** Forget the session, which has ended at the service. */
export function end(why = "") {
  if (current) {
    keep(null, why);
  }
}

/** End the session at the service, too. */
export async function logOut(why = "") {
  const request = { method: "POST", keepalive: true, ...authentication() };
  const url = `${page.root}/${page.users}/logout`;
  end(why);
  // If the call fails, the token expires later; nobody has it any more.
  await fetch(url, request).catch(() => {});
}

function keep(next, why) {
  current = next;
  reason = why;
  if (next) {
    sessionStorage.setItem(KEY, JSON.stringify(next));
  } else {
    sessionStorage.removeItem(KEY);
  }
  watchers.forEach((callback) => callback());
}

function read() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    return kept?.expires > Date.now() ? kept : null;
  } catch {
    return null;
  }
}

function readCookie() {
  const userId = page.cookies && /(?:^|; )userId=([^;]+)/.exec(document.cookie)?.[1];
  return userId ? { token: "", userId: decodeURIComponent(userId), email: "", expires: Infinity } : null;
}

function check() {
  if (!current) {
    return;
  }
  if (current.expires <= Date.now()) {
    end("Your session has expired: log in again.");
  } else if (Date.now() - lastActivity > page.idleSeconds * 1000) {
    logOut(`You were logged out after ${Math.round(page.idleSeconds / 60)} minutes without activity.`);
  }
}

for (const event of ["keydown", "pointerdown"]) {
  addEventListener(event, () => (lastActivity = Date.now()), { capture: true, passive: true });
}
setInterval(check, CHECK_MILLISECONDS);
addEventListener("focus", check);
