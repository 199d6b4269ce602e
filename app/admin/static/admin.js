// The page: the login, then the admin's views, which are only loaded then.

import { Login } from "../../ostiary/static/login.js";
import { page } from "../../ostiary/static/page.js";
import { Loaded, Notices, useCall, useSession } from "../../ostiary/static/parts.js";
import { Reauthentication } from "../../ostiary/static/reauthenticate.js";
import { html, render } from "../../ostiary/static/view.js";

function Page() {
  const session = useSession();
  return html`
    ${session
      ? html`<${Views} key=${session.userId} />`
      : html`<main><${Login} title=${`${page.service} admin`} /></main>`}
    <${Reauthentication} />
    <${Notices} />
  `;
}

function Views() {
  const shell = useCall(() => import("./shell.js"), []);
  return html`<${Loaded} of=${shell}>${({ Shell }) => html`<${Shell} />`}<//>`;
}

const place = document.getElementById("page");
place.replaceChildren();
render(html`<${Page} />`, place);
