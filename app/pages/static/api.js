// Calls of the API with the token of the session.

import { page } from "./page.js";
import { authentication, end, session } from "./session.js";

const NO_ANSWER = { message: "The service does not answer: try again." };
// Error codes of an ended session. Where one may also be a denial, the session goes on.
const ENDED = ["INVALID_TOKEN", ...(page.refusedStatus === 401 ? [] : ["AUTHORIZATION_REQUIRED"])];

// By an error's code: asks the user for what the call requires first, and resolves to
// whether that was done.
const askers = {};

/** An error response: its status, code, details, and messages by field. */
export class ApiError extends Error {
  constructor(status, body, headers = new Headers()) {
    super(body?.message ?? `The service answered with the status ${status}.`);
    this.status = status;
    this.code = body?.error?.code ?? "";
    this.details = body?.error?.details ?? {};
    this.fields = this.details.messages ?? {};
    this.retryAfter = Number(headers.get("Retry-After")) || 0;
    this.requestId = headers.get("X-Request-Id") ?? "";
  }
}

/** Set the function to call for an error with this code; the call is repeated afterwards. */
export function onAnswer(code, ask) {
  askers[code] = ask;
}

/** Return the URL of a call, with the parameters that have a value; objects become JSON. */
export function urlOf(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const texts = given.map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  const text = new URLSearchParams(texts).toString();
  return `${page.root}${path}${text && `?${text}`}`;
}

/**
 * Call the API; return status, body and headers.
 *
 * Throws an ApiError for an error, with status 0 if there is no response. A call that requires a
 * more recent login, or a proof of the address, is repeated after each of them, unless it `isFinal`.
 * `body` becomes JSON unless it is a form with files, and with `isFile` the response's body is a
 * Blob.
 */
export async function call(verb, path, options = {}) {
  const open = options.isFinal ? {} : { ...askers };
  for (;;) {
    try {
      return await send(verb, path, options);
    } catch (error) {
      const ask = open[error.code];
      delete open[error.code];
      if (!ask || !(await ask(error))) {
        throw error;
      }
    }
  }
}

async function send(verb, path, { body, query, headers = {}, signal, credentials, isFile } = {}) {
  const current = session();
  const own = authentication();
  const request = { method: verb, headers: { ...headers, ...own.headers }, signal };
  request.credentials = credentials ?? own.credentials;
  if (body instanceof FormData) {
    request.body = body;
  } else if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const response = await fetch(urlOf(path, query), request).catch((error) => {
    throw error.name === "AbortError" ? error : new ApiError(0, NO_ANSWER);
  });
  const answer = isFile && response.ok ? await response.blob() : await read(response);
  if (!response.ok) {
    const error = new ApiError(response.status, answer, response.headers);
    if (current && current === session() && error.status === 401 && ENDED.includes(error.code)) {
      end("Your session has ended: log in again.");
    }
    throw error;
  }
  return { status: response.status, body: answer, headers: response.headers };
}

async function read(response) {
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  return isJson ? response.json().catch(() => null) : null;
}
