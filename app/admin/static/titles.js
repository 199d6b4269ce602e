// What models and rows are called.

import { inWords } from "../../ostiary/static/words.js";
import { labelsOf } from "./properties.js";

/** Return the name of a model's rows in words: "Sign ups" for `SignUps`. */
export function pluralOf(model) {
  return inWords(model.name);
}

/** Return the name of one row in words: "Sign up" for `SignUp`. */
export function singularOf(model) {
  return inWords(model.singular);
}

/** Return the same within a sentence: "sign up". */
export function inSentence(model) {
  const words = singularOf(model);
  return /^[A-Z]{2}/.test(words) ? words : words[0].toLowerCase() + words.slice(1);
}

/** Return the title of a row by its id and, if it has one, the property that names it. */
export function titleOf(model, id, row) {
  const label = row && labelsOf(model).map((name) => row[name]).find(Boolean);
  return label ? `${singularOf(model)} ${id}: ${label}` : `${singularOf(model)} ${id}`;
}
