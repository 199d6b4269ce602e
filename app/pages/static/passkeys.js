// What a browser makes and signs with passkeys.

import { ApiError } from "./api.js";

const NOT_DONE = "The passkey was not used: it was cancelled, or this device has none for this site.";

/** Tell whether the browser has passkeys, and says so in a way that this page understands. */
export function hasPasskeys() {
  return typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
}

/** Return the JSON of a new passkey, made with the service's options. */
export async function makePasskey(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return (await tried(navigator.credentials.create({ publicKey }))).toJSON();
}

/** Return the JSON of what a passkey has signed, with the service's options. */
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
