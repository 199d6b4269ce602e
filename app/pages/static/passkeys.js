// The browser's functions for passkeys.

import { ApiError } from "./api.js";

const NOT_DONE = "The passkey was not used: it was cancelled, or this device has none for this site.";

/** Return true if the browser supports passkeys, in the form that this page uses. */
export function hasPasskeys() {
  return typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
}

/** Return the JSON of a new passkey, created with the service's options. */
export async function makePasskey(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return (await tried(navigator.credentials.create({ publicKey }))).toJSON();
}

/** Return the JSON of a passkey's signature, with the service's options. */
export async function sign(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return (await tried(navigator.credentials.get({ publicKey }))).toJSON();
}

async function tried(credential) {
  try {
    return await credential;
  } catch (error) {
    const isThere = error.name === "InvalidStateError";
    const message = isThere ? "This device has a passkey of this account already." : NOT_DONE;
    throw new ApiError(0, { message });
  }
}
