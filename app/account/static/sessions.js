// The sessions: where the account is logged in, and how to end that.

import { call } from "../../ostiary/static/api.js";
import { Action, Card, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { describeAgent } from "./agents.js";
import { Row, Rows } from "./rows.js";

/** The view. */
export function Sessions({ path }) {
  const tokens = `${path}/accessTokens`;
  const sessions = useCall(async () => (await call("GET", tokens)).body, [tokens]);
  const end = async (handles) => {
    for (const handle of handles) {
      await call("DELETE", `${tokens}/${handle}`).catch(ignoreEnded);
    }
    notify(handles.length === 1 ? "The session is ended." : `${handles.length} sessions are ended.`);
    await sessions.reload();
  };
  return html`<${Card} title="Where you are logged in">
    <${Loaded} of=${sessions}>
      ${(value) => html`<${SessionRows} sessions=${value} end=${end} />`}
    <//>
  <//>`;
}

function SessionRows({ sessions, end }) {
  const others = sessions.filter(({ current }) => !current);
  return html`
    <${Rows} none="There is none.">
      ${sessions.map((session) => html`<${SessionRow} key=${session.handle} session=${session} end=${end} />`)}
    <//>
    ${others.length > 0 &&
    html`<${Action} className="danger" onClick=${() => end(others.map(({ handle }) => handle))}>End all others<//>`}
  `;
}

function SessionRow({ session, end }) {
  const { handle, current, userAgent, address, created, lastUsed } = session;
  const name = describeAgent(userAgent);
  const badge = current && html`<span class="badge good">this session</span>`;
  const button = !current && html`<${Action} aria-label="End ${name}" onClick=${() => end([handle])}>End<//>`;
  return html`<${Row} name=${name} badges=${badge} actions=${button}>
    ${address && `${address}, `}logged in <${Time} value=${created} />${lastUsed && html`, last used <${Time} value=${lastUsed} />`}
  <//>`;
}

/** Ignore the error if a session has ended meanwhile. */
function ignoreEnded(error) {
  if (error.status !== 404) {
    throw error;
  }
}
