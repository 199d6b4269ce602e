// The properties that users must have, in the form of a registration.

import { PropertyField } from "../../ostiary/static/inputs.js";
import { useCall } from "../../ostiary/static/parts.js";
import { validValues } from "../../ostiary/static/values.js";
import { html, useState } from "../../ostiary/static/view.js";
import { readRequired } from "./user_properties.js";

/** Return their `names`, a function for their `fields`, and one for the entered `values`. */
export function useRequiredProperties() {
  const properties = useCall(readRequired, []).value ?? [];
  const [texts, setTexts] = useState({});
  const enter = (name) => (text) => setTexts((now) => ({ ...now, [name]: text }));
  return {
    names: properties.map(({ name }) => name),
    fields: (problem) =>
      properties.map(
        (property) =>
          html`<${PropertyField} key=${property.name} ...${{ property, problem }} text=${texts[property.name]} onText=${enter(property.name)} />`,
      ),
    values: () => validValues(properties.filter(({ name }) => texts[name]), texts),
  };
}
