// The page: the login and the forms beside it, or the account of the logged-in user.

import { Notices, useSession } from "../../ostiary/static/parts.js";
import { Reauthentication } from "../../ostiary/static/reauthenticate.js";
import { html, render } from "../../ostiary/static/view.js";
import { Entrance } from "./entrance.js";
import { useView } from "./navigation.js";
import { Overview } from "./overview.js";

function Account() {
  const session = useSession();
  const view = useView();
  return html`
    ${session
      ? html`<${Overview} key=${session.token} userId=${session.userId} view=${view} />`
      : html`<${Entrance} view=${view} />`}
    <${Reauthentication} />
    <${Notices} />
  `;
}

const place = document.getElementById("page");
place.replaceChildren();
render(html`<${Account} />`, place);
