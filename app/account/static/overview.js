// The account of the logged-in user: its views, and the navigation between them.

import { page } from "../../ostiary/static/page.js";
import { Action, Loaded, useCall } from "../../ostiary/static/parts.js";
import { logOut, session } from "../../ostiary/static/session.js";
import { html, useRef } from "../../ostiary/static/view.js";
import { LoginMethods } from "./login_methods.js";
import { Bar, useTitle } from "./navigation.js";
import { Profile } from "./profile.js";
import { Sessions } from "./sessions.js";
import { Tokens } from "./tokens.js";
import { readUser } from "./user.js";

// In the order of display.
const VIEWS = [
  { name: "profile", title: "Profile", View: Profile },
  {
    name: "login-methods",
    title: "Ways to log in",
    View: LoginMethods,
    isOn: page.secondFactor || page.passkeys || page.identities,
  },
  { name: "sessions", title: "Sessions", View: Sessions },
  { name: "tokens", title: "Tokens", View: Tokens, isOn: Boolean(page.personalTokens) },
].filter(({ isOn = true }) => isOn);

/** The view with this name; by default the first. */
export function Overview({ userId, view }) {
  const path = `/${page.users}/${userId}`;
  const user = useCall(() => readUser(path), [path]);
  const heading = useRef();
  const shown = VIEWS.find(({ name }) => name === view) ?? VIEWS[0];
  useTitle(shown.title, heading);
  return html`
    <${Bar}>
      <p class="who">${user.value?.user.email ?? session()?.email}</p>
      <${Action} onClick=${() => logOut()}>Log out<//>
    <//>
    <div class="account">
      <nav aria-label="Account">
        ${VIEWS.map(
          ({ name, title }) =>
            html`<a href="#${name}" aria-current=${name === shown.name ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <main>
        <h1 ref=${heading} tabindex="-1">${shown.title}</h1>
        <${Loaded} of=${user}>
          ${(value) => html`<${shown.View} key=${shown.name} path=${path} ...${value} reload=${user.reload} />`}
        <//>
      </main>
    </div>
  `;
}
