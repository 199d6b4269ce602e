// The keyboard: "/" searches, arrows move between rows, Ctrl+Enter saves, Escape closes, "?" helps.

import { Dialog } from "../../ostiary/static/parts.js";
import { html, useEffect, useState } from "../../ostiary/static/view.js";

const KEYS = [
  ["/", "Search the list"],
  ["↑ ↓", "Move between rows"],
  ["Enter", "Open the row"],
  ["Ctrl + Enter", "Save the form"],
  ["Escape", "Close a dialog, or leave a row that is not changed"],
  ["?", "Show these keys"],
];

/** Handles the keys of all views, and shows a list of them. */
export function Shortcuts() {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const press = (event) => {
      if (event.key === "?" && isFree(event)) {
        show(true);
      } else {
        answer(event);
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    isShown &&
    html`<${Dialog} title="Keyboard" onClose=${() => show(false)}>
      <dl class="facts">${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
      <div class="buttons"><button type="button" onClick=${() => show(false)}>Close</button></div>
    <//>`
  );
}

function answer(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    save(event);
  } else if (event.key === "/" && isFree(event)) {
    focus(event, document.querySelector("main input[type=search]"));
  } else if (event.key === "ArrowDown" && isFree(event)) {
    move(event, 1);
  } else if (event.key === "ArrowUp" && isFree(event)) {
    move(event, -1);
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    document.querySelector("main a.back")?.click();
  }
}

/** Return true if a key is not meant for an input, a dialog or the browser. */
function isFree(event) {
  const isTyped = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog");
  return !isTyped && !event.ctrlKey && !event.metaKey && !event.altKey;
}

function save(event) {
  const form = event.target.closest?.("form") ?? document.querySelector("main .record form");
  if (form) {
    event.preventDefault();
    form.requestSubmit();
  }
}

function move(event, step) {
  const rows = [...document.querySelectorAll("main a.open")];
  const here = rows.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = here < 0 ? 0 : here + step;
  focus(event, rows[next]);
}

function focus(event, element) {
  if (element) {
    event.preventDefault();
    element.focus();
  }
}
