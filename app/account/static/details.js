// The properties that the project has declared for its users: shown, and changed.

import { PropertyField } from "../../ostiary/static/inputs.js";
import { Card, Form, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { isChanged, textOf, validValues } from "../../ostiary/static/values.js";
import { html, useState } from "../../ostiary/static/view.js";
import { changeUser } from "./user.js";
import { readProperties } from "./user_properties.js";

// Error codes of a change that the rules deny.
const DENIED = ["ACCESS_DENIED", "AUTHORIZATION_REQUIRED", "MODEL_NOT_FOUND"];

/** The card with the properties; `etag` is the tag of the user. */
export function Details({ path, user, etag, reload }) {
  const properties = useCall(readProperties, []);
  return html`<${Card} title="Details">
    <${Loaded} of=${properties}>
      ${(all) => {
        const written = all.filter(({ isWritable }) => isWritable);
        const fixed = all.filter(({ isWritable }) => !isWritable);
        return html`
          ${fixed.length > 0 && html`<${Facts} properties=${fixed} user=${user} />`}
          ${written.length > 0 && html`<${DetailsForm} properties=${written} ...${{ path, user, etag, reload }} />`}
        `;
      }}
    <//>
  <//>`;
}

/** The values that the user cannot change. */
function Facts({ properties, user }) {
  return html`<dl>
    ${properties.map(
      ({ name, label, kind, hint }) => html`
        <dt>${label}</dt>
        <dd><${Value} kind=${kind} value=${user[name]} />${hint && html`<small>${hint}</small>`}</dd>
      `,
    )}
  </dl>`;
}

function Value({ kind, value }) {
  if (value === null || value === undefined || value === "") {
    return html`<span class="muted">none</span>`;
  }
  switch (kind) {
    case "time":
      return html`<${Time} value=${value} />`;
    case "boolean":
      return value ? "yes" : "no";
    case "json":
      return html`<pre>${JSON.stringify(value, null, 2)}</pre>`;
    default:
      return String(value);
  }
}

function DetailsForm({ properties, path, user, etag, reload }) {
  const [texts, setTexts] = useState({});
  const send = async (changed) => {
    const values = validValues(changed, texts);
    try {
      await changeUser(path, values, { user, etag });
    } catch (error) {
      if (error.conflicts) {
        await reload();
        error.fields = conflictsOf(properties, error.conflicts);
      } else if (DENIED.includes(error.code)) {
        error.message = "You may not change these details.";
      }
      throw error;
    }
    await reload();
  };
  const save = async () => {
    const changed = properties.filter((property) => isChanged(property, user, texts));
    if (changed.length) {
      await send(changed);
    }
    notify(changed.length ? "Your details are changed." : "Nothing has changed.");
    // Text that was entered meanwhile is kept.
    setTexts((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== texts[name])));
  };
  const enter = (name) => (text) => setTexts((now) => ({ ...now, [name]: text }));
  return html`<${Form} label="Details" submit="Save the details" onSubmit=${save} fields=${properties.map(({ name }) => name)}>
    ${(problem) =>
      properties.map(
        (property) =>
          html`<${PropertyField} key=${property.name} ...${{ property, problem }} text=${texts[property.name] ?? textOf(property, user[property.name])} onText=${enter(property.name)} />`,
      )}
  <//>`;
}

/** Return the errors of fields whose values somebody else has changed meanwhile. */
function conflictsOf(properties, now) {
  const changed = properties.filter(({ name }) => name in now);
  return Object.fromEntries(
    changed.map((property) => {
      const text = textOf(property, now[property.name]) || "nothing";
      return [property.name, [`was changed to ${text} meanwhile; save again to replace it`]];
    }),
  );
}
