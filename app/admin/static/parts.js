// Parts of the admin's views: their headings, facts, questions, and the request as curl.

import { urlOf } from "../../ostiary/static/api.js";
import { page } from "../../ostiary/static/page.js";
import { Action, CopyButton, Dialog, Problem } from "../../ostiary/static/parts.js";
import { html, useEffect, useRef, useState } from "../../ostiary/static/view.js";

/** A view: its heading, which gets the focus, a link back, and its buttons. */
export function View({ title, back, actions, children }) {
  const heading = useRef();
  useEffect(() => {
    document.title = `${title} - ${page.service}`;
  }, [title]);
  useEffect(() => heading.current.focus({ preventScroll: true }), []);
  return html`
    ${back && html`<p class="crumb"><a class="back" href=${back.href}>← ${back.title}</a></p>`}
    <div class="head">
      <h1 ref=${heading} tabindex="-1">${title}</h1>
      ${actions && html`<div class="buttons">${actions}</div>`}
    </div>
    ${children}
  `;
}

/** Names and values in two columns; those without a value are left out. */
export function Facts({ facts }) {
  const given = facts.filter(([, value]) => value !== undefined && value !== false);
  return html`<dl class="facts">
    ${given.map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${value}</dd>`)}
  </dl>`;
}

/** A JSON value, on several lines. */
export function Json({ value }) {
  return html`<pre class="json">${JSON.stringify(value, null, 2)}</pre>`;
}

/** A button that asks before it calls the service. */
export function Confirmed({ title, text, label, onConfirm, look = "danger", children }) {
  const [isAsked, ask] = useState(false);
  return html`
    <button type="button" class=${look} onClick=${() => ask(true)}>${children ?? label}</button>
    ${isAsked && html`<${Question} ...${{ title, text, label, look, onConfirm }} onClose=${() => ask(false)} />`}
  `;
}

/** A dialog that asks whether to do something. */
export function Question({ title, text, label, look = "danger", onConfirm, onClose, children }) {
  const [problem, setProblem] = useState(null);
  const confirm = async () => {
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Problem} problem=${problem} />
    ${text && html`<p>${text}</p>`} ${children}
    <div class="buttons">
      <${Action} className=${look} onClick=${confirm}>${label}<//>
      <button type="button" onClick=${onClose}>Cancel</button>
    </div>
  <//>`;
}

/** The request behind a view, for a shell in which TOKEN is set. */
export function Curl({ verb = "GET", path, query, body }) {
  const text = curlOf(verb, path, query, body);
  return html`<details class="curl">
    <summary>Request as curl</summary>
    <pre>${text}</pre>
    <${CopyButton} text=${text} />
  </details>`;
}

/** Return a call as a curl command, with `$TOKEN` in place of the token. */
function curlOf(verb, path, query, body) {
  const url = location.origin + urlOf(path, query);
  const words = ["curl", ...(verb === "GET" ? [] : ["-X", verb]), quoted(url), '-H "Authorization: $TOKEN"'];
  if (body !== undefined) {
    words.push("-H 'Content-Type: application/json'", "-d", quoted(JSON.stringify(body)));
  }
  return words.join(" ");
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
