// The ways to log in: authenticator apps, recovery codes, passkeys, and logins by providers.

import { call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { Loaded, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { Apps } from "./apps.js";
import { Identities } from "./identities.js";
import { Passkeys } from "./passkeys.js";
import { RecoveryCodes } from "./recovery_codes.js";

/** The view. */
export function LoginMethods({ path, user }) {
  const methods = useCall(() => loadMethods(path), [path]);
  return html`<${Loaded} of=${methods}>
    ${({ apps, codes, passkeys, identities }) => {
      const shared = { path, user, reload: methods.reload, kinds: kindsOf(apps, codes, passkeys) };
      const takesCodes = page.secondFactor && apps.length + passkeys.length > 0;
      return html`
        ${page.passkeys && html`<${Passkeys} ...${shared} passkeys=${passkeys} />`}
        ${page.secondFactor && html`<${Apps} ...${shared} apps=${apps} />`}
        ${takesCodes && html`<${RecoveryCodes} ...${shared} left=${codes.left} />`}
        ${page.identities && html`<${Identities} ...${shared} identities=${identities} />`}
      `;
    }}
  <//>`;
}

async function loadMethods(path) {
  const read = async (isOn, name, none) => (isOn ? (await call("GET", `${path}/${name}`)).body : none);
  const [apps, codes, passkeys, identities] = await Promise.all([
    read(page.secondFactor, "factors", []),
    read(page.secondFactor, "recoveryCodes", { left: 0 }),
    read(page.passkeys, "passkeys", []),
    read(page.identities, "identities", []),
  ]);
  return { apps, codes, passkeys, identities };
}

/** Return the kinds of second factors that the user has. */
function kindsOf(apps, codes, passkeys) {
  const had = { totp: apps.length, recovery: codes.left, passkey: page.secondFactor && passkeys.length };
  return Object.keys(had).filter((kind) => had[kind]);
}
