// The dialog shown when somebody else has changed a row meanwhile.

import { Action, Dialog } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { Value } from "./cells.js";

/**
 * A dialog with the changes: the row when it was read, the row `now`, and `mine`.
 *
 * `onReload` discards the user's changes, `onOverwrite` saves them all the same.
 */
export function Conflict({ properties, base, now, mine, onReload, onOverwrite, onClose }) {
  const changed = properties.filter(({ name }) => name in mine || JSON.stringify(base[name]) !== JSON.stringify(now.row[name]));
  const show = (property, value) => html`<${Value} property=${property} value=${value} />`;
  return html`<${Dialog} title="Somebody has changed this row" onClose=${onClose}>
    <p>It was changed after you had opened it. Nothing of yours is saved yet.</p>
    <div class="wide"><table class="compared">
      <thead>
        <tr><th scope="col">Property</th><th scope="col">Was</th><th scope="col">Is now</th><th scope="col">Yours</th></tr>
      </thead>
      <tbody>
        ${changed.map(
          (property) => html`<tr key=${property.name}>
            <th scope="row">${property.name}</th>
            <td>${show(property, base[property.name])}</td>
            <td>${show(property, now.row[property.name])}</td>
            <td>${property.name in mine ? show(property, mine[property.name]) : html`<span class="muted">not changed</span>`}</td>
          </tr>`,
        )}
      </tbody>
    </table></div>
    <div class="buttons">
      <button type="button" class="strong" onClick=${onReload}>Reload, without mine</button>
      <${Action} className="danger" onClick=${onOverwrite}>Save mine all the same<//>
      <button type="button" onClick=${onClose}>Cancel</button>
    </div>
  <//>`;
}
