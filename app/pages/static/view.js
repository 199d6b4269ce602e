// Preact with its hooks, and templates instead of JSX: `html`<p>${text}</p>``.

import { h } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { Fragment, createContext, render } from "./vendor/preact.js";
export * from "./vendor/hooks.js";
export const html = htm.bind(h);
