// A user's sessions, identities, second factors, personal tokens, and history.

import { call } from "../../ostiary/static/api.js";
import { Card, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin, userPath } from "./access.js";
import { AuditList } from "./audit_list.js";
import { Confirmed, Curl } from "./parts.js";

/** The views of a user's items, each if the caller may see it. */
export const TABS = [
  tab("sessions", "Sessions", "__get__accessTokens", Sessions),
  tab("identities", "Identities", "__get__identities", Identities),
  { name: "factors", title: "Factors", View: Factors, isAllowed: ({ mayUsers }) => mayUsers("__get__factors") || mayUsers("__get__passkeys") },
  tab("tokens", "Personal tokens", "__get__personalTokens", Tokens),
  tab("history", "History", "__get__audit", History),
];

function tab(name, title, method, View) {
  return { name, title, View, isAllowed: ({ mayUsers }) => mayUsers(method) };
}

/** A list of a user's items from the API; `children` renders one, `remove` ends it. */
function Entries({ title, user, rest, empty, idOf, removal, all, children }) {
  const path = userPath(user, rest);
  const read = useCall(async () => (await call("GET", path)).body, [path, user]);
  const end = (id, text) => async () => {
    await call("DELETE", id === undefined ? path : `${path}/${encodeURIComponent(id)}`);
    notify(text);
    read.reload();
  };
  return html`
    <${Card} title=${title}>
      <${Loaded} of=${read}>
        ${(entries) => html`
          ${entries.length === 0 && html`<p class="muted">${empty}</p>`}
          <ul class="entries">
            ${entries.map(
              (entry) => html`<li key=${idOf(entry)}>
                <div>${children(entry)}</div>
                ${removal && html`<${Confirmed} ...${removal(entry)} onConfirm=${end(idOf(entry), removal(entry).done)} />`}
              </li>`,
            )}
          </ul>
          ${all && entries.length > 0 && html`<${Confirmed} ...${all} onConfirm=${end(undefined, all.done)} />`}
        `}
      <//>
    <//>
    <${Curl} path=${path} />
  `;
}

function Sessions({ user }) {
  const { mayUsers } = useAdmin();
  const removal = (session) => ({ title: "End this session?", text: session.address ?? "", label: "End", done: "The session has ended." });
  const all = { title: `End all sessions of ${user.email}?`, text: "Personal tokens stay.", label: "End all sessions", done: "All sessions have ended." };
  return html`<${Entries} ...${{ user, title: "Sessions", rest: "/accessTokens", idOf: ({ handle }) => handle }} empty="No session is open." removal=${mayUsers("__destroyById__accessTokens") && removal} all=${mayUsers("__delete__accessTokens") && all}>
    ${(session) => html`
      <strong>${session.address ?? "unknown address"}</strong> ${session.current && html`<span class="badge good">this one</span>`}
      <p class="muted">${session.userAgent ?? "unknown client"}<br />since <${Time} value=${session.created} />${session.lastUsed && html`, used <${Time} value=${session.lastUsed} />`}</p>
    `}
  <//>`;
}

function Identities({ user }) {
  const { mayUsers } = useAdmin();
  const removal = ({ provider }) => ({ title: `Remove the identity at ${provider}?`, text: "The user can no longer log in by it.", label: "Remove", done: "Removed." });
  return html`<${Entries} ...${{ user, title: "Identities", rest: "/identities", idOf: ({ id }) => id }} empty="The user has no identity at a provider." removal=${mayUsers("__destroyById__identities") && removal}>
    ${({ provider, issuer, subject, lastUsed }) => html`
      <strong>${provider}</strong> <span class="muted">${issuer}</span>
      <p class="muted">${subject}<br />used <${Time} value=${lastUsed} /></p>
    `}
  <//>`;
}

function Factors({ user, onDone }) {
  const { mayUsers } = useAdmin();
  const reset = async () => {
    await call("DELETE", userPath(user, "/factors"));
    notify("All factors are removed, and all sessions have ended.");
    onDone();
  };
  return html`
    ${mayUsers("__get__factors") &&
    html`<${Entries} ...${{ user, title: "Second factors", rest: "/factors", idOf: ({ id }) => id }} empty="The user has no second factor.">
      ${(factor) => html`<strong>${factor.name ?? factor.kind}</strong> <span class="muted">${factor.kind}, since <${Time} value=${factor.created} /></span>`}
    <//>`}
    ${mayUsers("__get__passkeys") &&
    html`<${Entries} ...${{ user, title: "Passkeys", rest: "/passkeys", idOf: ({ id }) => id }} empty="The user has no passkey.">
      ${(passkey) => html`<strong>${passkey.name ?? "Passkey"}</strong> <span class="muted">since <${Time} value=${passkey.created} /></span>`}
    <//>`}
    ${mayUsers("__delete__factors") &&
    html`<p><${Confirmed} title=${`Remove all factors of ${user.email}?`} text="For somebody who has lost them. Passkeys and recovery codes go too, and all sessions end." label="Reset all factors" onConfirm=${reset} /></p>`}
  `;
}

function Tokens({ user }) {
  const { mayUsers } = useAdmin();
  const removal = ({ name }) => ({ title: `End the token ${name}?`, text: "Programs that use it are refused at once.", label: "End", done: "The token has ended." });
  return html`<${Entries} ...${{ user, title: "Personal tokens", rest: "/personalTokens", idOf: ({ handle }) => handle }} empty="The user has no personal token." removal=${mayUsers("__destroyById__personalTokens") && removal}>
    ${(token) => html`
      <strong>${token.name}</strong> <code>${JSON.stringify(token.scopes)}</code>
      <p class="muted">until <${Time} value=${token.expiresAt} />, used <${Time} value=${token.lastUsed} /></p>
    `}
  <//>`;
}

function History({ user, query }) {
  return html`<${AuditList} path=${userPath(user, "/audit")} segments=${["users", String(user.id), "history"]} query=${query} userId=${user.id} />`;
}
