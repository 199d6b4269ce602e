// Rows of a user's items, and the dialogs that remove one.

import { Dialog, Form } from "../../ostiary/static/parts.js";
import { Proofs } from "../../ostiary/static/proofs.js";
import { html } from "../../ostiary/static/view.js";

/** A list of rows, or a text if there are none. */
export function Rows({ children, none }) {
  return children.length ? html`<ul class="rows">${children}</ul>` : html`<p class="muted">${none}</p>`;
}

/** A row: its name, badges, details and buttons. */
export function Row({ name, badges, children, actions }) {
  return html`<li>
    <div>
      <p class="name"><strong>${name}</strong> ${badges}</p>
      <p class="muted">${children}</p>
    </div>
    <div class="buttons">${actions}</div>
  </li>`;
}

/** A dialog that asks for confirmation. */
export function ConfirmDialog({ title, text, submit, onConfirm, onClose }) {
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${text}</p>
    <${Form} label=${title} submit=${submit} look="danger" onSubmit=${confirm} actions=${cancel(onClose)} />
  <//>`;
}

/** A dialog that requires a second factor before something is removed. */
export function ProofDialog({ title, text, submit, kinds, onProof, onClose }) {
  const prove = async (proof) => {
    await onProof(proof);
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${text}</p>
    <${Proofs} kinds=${kinds} submit=${submit} onProof=${prove} actions=${cancel(onClose)} />
  <//>`;
}

/** The button that closes a dialog. */
export function cancel(onClose) {
  return html`<button type="button" onClick=${onClose}>Cancel</button>`;
}
