// Personal tokens: list, revoke and create them, with scopes and an expiry.

import { call } from "../../ostiary/static/api.js";
import { Card, CopyButton, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { NewTokenDialog } from "./new_token.js";
import { ConfirmDialog, Row, Rows } from "./rows.js";

/** The view. */
export function Tokens({ path }) {
  const url = `${path}/personalTokens`;
  const tokens = useCall(async () => (await call("GET", url)).body, [url]);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState(null);
  const [ended, setEnded] = useState(null);
  const keep = async (token) => {
    setMade(token);
    await tokens.reload();
  };
  const end = async () => {
    await call("DELETE", `${url}/${ended.handle}`);
    setMade(null);
    notify("The token is ended.");
    await tokens.reload();
  };
  return html`<${Card} title="Personal tokens">
    <p>A program sends a token instead of your password. It may do less than you, and can be ended by itself.</p>
    ${made && html`<${Value} token=${made} />`}
    <${Loaded} of=${tokens}>
      ${(value) => html`<${Rows} none="You have none.">
        ${value.map((token) => html`<${TokenRow} key=${token.handle} token=${token} onEnd=${() => setEnded(token)} />`)}
      <//>`}
    <//>
    <button type="button" class="strong" onClick=${() => setMaking(true)}>Make a token</button>
    ${isMaking && html`<${NewTokenDialog} url=${url} onMade=${keep} onClose=${() => setMaking(false)} />`}
    ${ended &&
    html`<${ConfirmDialog} title="End ${ended.name}?" text="Programs that use it are refused from now on." submit="End the token"
      onConfirm=${end} onClose=${() => setEnded(null)} />`}
  <//>`;
}

function Value({ token }) {
  return html`<div class="note value" role="status">
    <p>This is the token <strong>${token.name}</strong>. It is shown this once: copy it to where it is used.</p>
    <p><code>${token.token}</code></p>
    <${CopyButton} text=${token.token} />
  </div>`;
}

function TokenRow({ token, onEnd }) {
  const { name, scopes, created, expiresAt, lastUsed, address } = token;
  const button = html`<button type="button" aria-label="End ${name}" onClick=${onEnd}>End</button>`;
  return html`<${Row} name=${name} actions=${button}>
    ${tellScopes(scopes)}<br />
    Made <${Time} value=${created} />, ends <${Time} value=${expiresAt} />, last used <${Time} value=${lastUsed} />${address && ` from ${address}`}
  <//>`;
}

function tellScopes(scopes) {
  return Object.entries(scopes)
    .map(([model, words]) => `${model}: ${words.join(", ")}`)
    .join("; ");
}
