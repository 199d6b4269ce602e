// The fields of properties, including references to other rows.

import { PropertyField as Field } from "../../ostiary/static/inputs.js";
import { html } from "../../ostiary/static/view.js";
import { Reference } from "./reference.js";

const INPUTS = { reference: Reference };

/** The field of a property, as in all pages. */
export function PropertyField(properties) {
  return html`<${Field} ...${properties} inputs=${INPUTS} />`;
}
