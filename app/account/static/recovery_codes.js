// Recovery codes: the number of unused ones, and new ones, which are shown once.

import { call } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { Action, Card, CopyButton, save } from "../../ostiary/static/parts.js";
import { html, useEffect, useRef, useState } from "../../ostiary/static/view.js";
import { ConfirmDialog } from "./rows.js";

// With this number or fewer, the page suggests new ones.
const FEW = 3;

/** The card of the codes. */
export function RecoveryCodes({ path, user, left, reload }) {
  const [codes, setCodes] = useState(null);
  const [isAsked, setAsked] = useState(false);
  const make = async () => setCodes((await call("POST", `${path}/recoveryCodes`)).body.codes);
  const close = async () => {
    setCodes(null);
    await reload();
  };
  if (codes) {
    return html`<${NewCodes} codes=${codes} email=${user.email} onClose=${close} />`;
  }
  return html`<${Card} title="Recovery codes">
    <p>For a login when your other factor is lost. Each works once.</p>
    <p class=${left > FEW ? "" : "note"}>${tellHowMany(left)}</p>
    <${Action} className=${left ? "" : "strong"} onClick=${left ? () => setAsked(true) : make}>Make new codes<//>
    ${isAsked &&
    html`<${ConfirmDialog} title="Make new recovery codes?" text="Those that you have now work no more." submit="Make new codes"
      onConfirm=${make} onClose=${() => setAsked(false)} />`}
  <//>`;
}

function tellHowMany(left) {
  if (!left) {
    return "You have none. Make some, so that you are not locked out when you lose your device.";
  }
  return left === 1 ? "You have 1 code left." : `You have ${left} codes left.`;
}

function NewCodes({ codes, email, onClose }) {
  const heading = useRef();
  useEffect(() => heading.current.focus(), []);
  const title = `Recovery codes of ${email} at ${page.service}`;
  const text = [title, `made on ${new Date().toLocaleDateString()}; each works once`, "", ...codes, ""].join("\n");
  return html`<section class="card printed" aria-labelledby="new-codes">
    <h2 id="new-codes" ref=${heading} tabindex="-1">Your new recovery codes</h2>
    <p class="screen">They are shown this once. Keep them where you find them without the device that you log in with.</p>
    <p class="paper">${title}, made on ${new Date().toLocaleDateString()}. Each works once.</p>
    <ol class="codes">
      ${codes.map((code) => html`<li key=${code}><code>${code}</code></li>`)}
    </ol>
    <div class="buttons">
      <${CopyButton} text=${codes.join("\n")} />
      <button type="button" onClick=${() => save("recovery-codes.txt", text)}>Download</button>
      <button type="button" onClick=${() => print()}>Print</button>
      <${Action} className="strong" onClick=${onClose}>I have kept them<//>
    </div>
  </section>`;
}
