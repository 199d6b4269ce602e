// The section of the state of the service.

import { call } from "../../ostiary/static/api.js";
import { Action, Card, Loaded, Time, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Curl, Facts, View } from "./parts.js";

/** The version, health and load of the service. */
export default function State() {
  const state = useCall(async () => (await call("GET", "/admin/state")).body, []);
  return html`<${View} title="State" actions=${html`<${Action} onClick=${state.reload}>Refresh<//>`}>
    <${Loaded} of=${state}>${(value) => html`<${Cards} state=${value} />`}<//>
    <${Curl} path="/admin/state" />
  <//>`;
}

function Cards({ state }) {
  const { version, started, uptime, database, migrations, health, outbox, locks, users } = state;
  const healthy = html`<span class="badge ${health === "ok" ? "good" : "bad"}">${health}</span>`;
  return html`<div class="cards">
    <${Card} title="Service">
      <${Facts} facts=${[["health", healthy], ["version", version], ["started", html`<${Time} value=${started} />`], ["up for", inWords(uptime)], ["users", html`<${To} section="users" method="findUsers">${users.toLocaleString()}<//>`]]} />
    <//>
    <${Card} title="Database">
      <${Facts} facts=${[["database", `${database.dialect} ${database.version}`], ...Object.entries(migrations).map(([name, chain]) => [`migrations, ${name}`, html`<${Chain} chain=${chain} />`])]} />
    <//>
    <${Card} title="Outbox and locks">
      <${Facts} facts=${[["pending", html`<${To} section="outbox" query=${{ state: "pending" }} method="findOutbox">${outbox.pending}<//>`], ["failed", html`<${To} section="outbox" query=${{ state: "failed" }} method="findOutbox">${outbox.failed}<//>`], ["oldest pending", html`<${Time} value=${outbox.oldest} none="none" />`], ["locks", html`<${To} section="locks" method="findThrottles">${locks}<//>`]]} />
    <//>
  </div>`;
}

function To({ section, query, method, children }) {
  const { mayAdmin } = useAdmin();
  return mayAdmin(method) ? html`<a href=${hrefOf([section], query)}>${children}</a>` : children;
}

function Chain({ chain }) {
  if (!chain) {
    return html`<span class="muted">none</span>`;
  }
  const isCurrent = chain.current === chain.head;
  return html`<span class="badge ${isCurrent ? "good" : "bad"}">${isCurrent ? "current" : "behind"}</span> <code>${chain.current ?? "none"}</code>${!isCurrent && html` of <code>${chain.head}</code>`}`;
}

const UNITS = [["days", 86400], ["hours", 3600], ["minutes", 60]];

function inWords(seconds) {
  const found = UNITS.find(([, size]) => seconds >= 2 * size);
  return found ? `${Math.floor(seconds / found[1])} ${found[0]}` : `${Math.floor(seconds)} seconds`;
}
