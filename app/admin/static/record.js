// The form of a row: the entered values, the changed ones, and the ones to send.

import { Form, notify } from "../../ostiary/static/parts.js";
import { isChanged, textOf, validValues, valuesOf } from "../../ostiary/static/values.js";
import { html, useEffect, useState } from "../../ostiary/static/view.js";
import { askBeforeLeaving } from "./address.js";
import { PropertyField } from "./fields.js";

/**
 * The form of a row with these properties.
 *
 * `row` has the values as they are, and nothing for a new row. `onSave` gets those that were changed,
 * and returns whether they are saved; `onChange` is called with them at every change, but with no
 * password.
 */
export function RecordForm({ properties, row, isNew, label, submit, onSave, onChange }) {
  const [texts, setTexts] = useState({});
  const shownIn = (filled) =>
    properties.filter(({ neededFor }) => !neededFor || properties.some((property) => property.name === neededFor && isChanged(property, row, filled)));
  const changedIn = (filled) => shownIn(filled).filter((property) => isChanged(property, row, filled));
  const changed = changedIn(texts);
  const isDirty = changed.length > 0;
  useEffect(() => {
    askBeforeLeaving(isDirty);
    return () => askBeforeLeaving(false);
  }, [isDirty]);
  const change = (name) => (text) => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    askBeforeLeaving(changedIn(next).length > 0);
    onChange(withoutPasswords(properties, valuesOf(changedIn(next), next).values));
  };
  const send = async () => {
    const values = validValues(changed, texts);
    if (!isNew && !isDirty) {
      notify("Nothing has changed.");
    } else if (await onSave(values)) {
      // Text that was entered meanwhile is kept.
      setTexts((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== texts[name])));
    }
  };
  const shown = shownIn(texts);
  return html`<div class="record">
    <${Form} label=${label} submit=${submit} onSubmit=${send} fields=${shown.map(({ name }) => name)}>
      ${(problem) => html`
        ${isNew && html`<p class="muted">What you leave alone gets its default.</p>`}
        ${shown.map(
          (property) =>
            html`<${PropertyField} key=${property.name} ...${{ property, isNew, problem }} text=${texts[property.name] ?? textOf(property, row[property.name])} onText=${change(property.name)} />`,
        )}
      `}
    <//>
  </div>`;
}

function withoutPasswords(properties, values) {
  const secret = properties.filter(({ name, kind }) => kind === "password" && name in values);
  return { ...values, ...Object.fromEntries(secret.map(({ name }) => [name, "…"])) };
}
