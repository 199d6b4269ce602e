// The section of settings, which are read-only.

import { call } from "../../ostiary/static/api.js";
import { Loaded, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { go } from "./address.js";
import { Curl, View } from "./parts.js";

/** The settings of the service; the URL has the search text. */
export default function Settings({ query: { q = "", changed = "" } }) {
  const settings = useCall(async () => (await call("GET", "/admin/settings")).body, []);
  const search = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    go(["settings"], { q: form.get("q"), changed: form.get("changed") ?? "" });
  };
  const matches = ({ name, description, source }) =>
    `${name} ${description}`.toLowerCase().includes(q.toLowerCase()) && (!changed || source !== "default");
  return html`<${View} title="Settings">
    <p class="muted">They are set in config.py or by the environment, and read when the service starts.</p>
    <form class="tools" role="search" onSubmit=${search}>
      <div class="search"><input type="search" name="q" defaultValue=${q} aria-label="Search settings" placeholder="Search settings" /><button>Search</button></div>
      <label class="choice"><input type="checkbox" name="changed" value="1" defaultChecked=${Boolean(changed)} onChange=${(event) => event.target.form.requestSubmit()} /> <span>Only those that are set</span></label>
    </form>
    <${Loaded} of=${settings}>
      ${(all) => {
        const found = all.filter(matches);
        return found.length
          ? html`<ul class="entries card">${found.map((setting) => html`<${Setting} key=${setting.name} setting=${setting} />`)}</ul>`
          : html`<div class="empty"><p>No setting matches.</p></div>`;
      }}
    <//>
    <${Curl} path="/admin/settings" />
  <//>`;
}

function Setting({ setting: { name, value, default: usual, description, source, isSecret } }) {
  const isDefault = source === "default";
  return html`<li>
    <div>
      <code><strong>${name}</strong></code> <span class="badge ${isDefault ? "" : "good"}">${source}</span> ${isSecret && html`<span class="badge">secret</span>`}
      <p>${plain(description)}</p>
      <pre>${JSON.stringify(value)}</pre>
      ${!isDefault && html`<small>default ${JSON.stringify(usual)}</small>`}
    </div>
  </li>`;
}

/** Return a text without the marks of Markdown. */
function plain(text) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
