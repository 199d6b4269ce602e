// Which columns a list shows.

import { Dialog, Form } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";

/** A button whose dialog selects the columns; calls `onChange` with their names. */
export function Columns({ all, shown, onChange }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const send = async (chosen) => {
    close();
    onChange(all.map(({ name }) => name).filter((name) => name in chosen));
  };
  const reset = html`<button type="button" onClick=${() => { close(); onChange(null); }}>As at first</button>`;
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Columns</button>
    ${isOpen &&
    html`<${Dialog} title="Columns" onClose=${close}>
      <${Form} label="Columns" submit="Show these" onSubmit=${send} actions=${reset}>
        ${() =>
          all.map(
            ({ name, title }) => html`<label class="choice" key=${name}>
              <input type="checkbox" name=${name} defaultChecked=${shown.some((column) => column.name === name)} />
              <span>${title}</span>
            </label>`,
          )}
      <//>
    <//>`}
  `;
}
