// The frame of all views: the bar, the navigation, and the view in the URL.

import { page } from "../../ostiary/static/page.js";
import { Action, Loaded, useCall } from "../../ostiary/static/parts.js";
import { logOut } from "../../ostiary/static/session.js";
import { html, useEffect, useState } from "../../ostiary/static/view.js";
import { AdminProvider, loadAdmin } from "./access.js";
import { hrefOf, useAddress } from "./address.js";
import { Shortcuts } from "./keys.js";
import { allowedSections, findSection } from "./sections.js";
import { View } from "./parts.js";
import { pluralOf } from "./titles.js";

/** Everything that is shown after the login. */
export function Shell() {
  const admin = useCall(loadAdmin, []);
  return html`<${Loaded} of=${admin}>
    ${(value) => html`<${AdminProvider} value=${value}><${Frame} admin=${value} /><//>`}
  <//>`;
}

function Frame({ admin }) {
  const address = useAddress();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [address]);
  const sections = allowedSections(admin);
  const section = findSection(sections, address.segments[0]);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <p class="brand"><img src=${icon} alt="" width="24" height="24" />${page.service} <small>admin</small></p>
      ${sections.length > 0 &&
      html`<button type="button" class="menu" aria-expanded=${isOpen} aria-controls="sections" onClick=${() => setOpen(!isOpen)}>
        Menu
      </button>`}
      <p class="who">${admin.access.email}</p>
      <${Action} onClick=${() => logOut()}>Log out<//>
    </header>
    <div class="frame">
      ${sections.length > 0 && html`<${Navigation} ...${{ sections, section, address, admin, isOpen }} />`}
      <main id="main" tabindex="-1">
        ${section ? html`<${Section} key=${section.name} section=${section} address=${address} />` : html`<${NothingHere} name=${address.segments[0]} hasOthers=${sections.length > 0} />`}
      </main>
    </div>
    <${Shortcuts} />
  `;
}

const icon = new URL("../../ostiary/static/favicon.svg", import.meta.url);

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Navigation({ sections, section, address, admin, isOpen }) {
  const isHere = (name) => section?.name === "rows" && address.segments[1] === name;
  return html`<nav id="sections" aria-label="Sections" class=${isOpen ? "open" : ""}>
    ${admin.models.length > 0 &&
    html`<h2>Rows</h2>
      <ul>
        ${admin.models
          .filter(({ name }) => name !== "users" && admin.may(name, "find"))
          .map((model) => html`<${Entry} key=${model.name} href=${hrefOf(["rows", model.name])} isHere=${isHere(model.name)}>${pluralOf(model)}<//>`)}
      </ul>`}
    <h2>Service</h2>
    <ul>
      ${sections
        .filter(({ title }) => title)
        .map(
          ({ name, title }) =>
            html`<${Entry} key=${name} href=${hrefOf([name])} isHere=${section?.name === name}>${title}<//>`,
        )}
    </ul>
  </nav>`;
}

function Entry({ href, isHere, children }) {
  return html`<li><a href=${href} aria-current=${isHere ? "page" : undefined}>${children}</a></li>`;
}

function Section({ section, address }) {
  const module = useCall(section.load, [section.name]);
  return html`<${Loaded} of=${module}>
    ${(loaded) => html`<${loaded.default} key=${address.segments.join("/")} segments=${address.segments.slice(1)} query=${address.query} />`}
  <//>`;
}

function NothingHere({ name, hasOthers }) {
  return hasOthers && name
    ? html`<${View} title="Nothing here"><p>There is no such view, or you may not see it.</p><//>`
    : html`<${View} title="No access">
        <p>You are logged in, but your account may not use any of the admin's calls. Ask an admin for a role that may.</p>
      <//>`;
}
