// The section of the outbox: mails and other work after a response, with their states.

import { call } from "../../ostiary/static/api.js";
import { Action, notify, Time } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { go, hrefOf } from "./address.js";
import { List } from "./list.js";
import { readState, writeState } from "./list_state.js";
import { Confirmed, View } from "./parts.js";

const STATES = ["pending", "scheduled", "delivered", "failed", "expired", "obsolete"];
const WAITING = ["pending", "scheduled"];
const RETRIED = ["failed", "expired"];
const LOOKS = { delivered: "good", failed: "bad", expired: "bad" };

const property = (name, kind) => ({ name, kind, schema: { type: kind === "integer" ? "integer" : "string" }, isReadable: true });
const PROPERTIES = [property("id", "integer"), property("event", "text"), property("subscriber", "text"), property("created", "time"), property("requestId", "text")];

/** The deliveries of the outbox. */
export default function Outbox({ query }) {
  const { mayAdmin } = useAdmin();
  const [version, setVersion] = useState(0);
  const { state = "" } = query;
  const act = (id, name, text) => async () => {
    await call("POST", `/admin/outbox/${id}/${name}`);
    notify(text);
    setVersion(version + 1);
  };
  // A row has at most one of them.
  const actions = ({ id, state: now }) =>
    (RETRIED.includes(now) && mayAdmin("retryDelivery") && html`<${Action} aria-label=${`Retry ${id}`} onClick=${act(id, "retry", "It is tried again.")}>Retry<//>`) ||
    (WAITING.includes(now) && mayAdmin("giveUpDelivery") &&
      html`<${Confirmed} title="Give up this delivery?" text="It is not tried any more, unless it is retried." label="Give up" onConfirm=${act(id, "giveUp", "Given up.")} />`);
  const choose = (event) => go(["outbox"], { ...writeState({ ...readState(query), skip: 0 }), state: event.target.value });
  const refresh = html`<button type="button" onClick=${() => setVersion(version + 1)}>Refresh</button>`;
  return html`<${View} title="Outbox" actions=${refresh}>
    <${List}
      label="outbox"
      path="/admin/outbox"
      segments=${["outbox"]}
      query=${query}
      properties=${PROPERTIES}
      columns=${[...COLUMNS, { name: "actions", title: "actions", isShown: true, render: actions }]}
      fixed=${state ? [{ state }] : []}
      extra=${{ state }}
      version=${version}
      tools=${html`<select aria-label="State" value=${state} onChange=${choose}>
        <option value="">all states</option>
        ${STATES.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select>`}
      empty=${html`<p>${state ? `No delivery is ${state}.` : "Nothing has been sent yet: mails are here as soon as somebody asks for one."}</p>`}
    />
  <//>`;
}

/** An address, as a link to the users who have it. */
function Recipient({ email }) {
  return useAdmin().mayAdmin("findUsers") ? html`<a href=${hrefOf(["users"], { q: email })}>${email}</a>` : email;
}

const COLUMNS = [
  { name: "id", title: "id", isShort: true, isShown: true, isOrderable: true, render: ({ id }) => id },
  { name: "event", title: "event", isShown: true, render: ({ event }) => event },
  { name: "subscriber", title: "by", render: ({ subscriber }) => subscriber },
  { name: "recipient", title: "to", isShown: true, render: ({ recipient }) => recipient && html`<${Recipient} email=${recipient} />` },
  { name: "state", title: "state", isShort: true, isShown: true, render: ({ state }) => html`<span class="badge ${LOOKS[state] ?? ""}">${state}</span>` },
  { name: "attempts", title: "attempts", isShort: true, isShown: true, render: ({ attempts }) => attempts },
  { name: "created", title: "created", isShort: true, isShown: true, render: ({ created }) => html`<${Time} value=${created} />` },
  { name: "lastError", title: "last error", isShown: true, render: ({ lastError }) => lastError ?? "" },
  { name: "deadline", title: "deadline", isShort: true, render: ({ deadline }) => html`<${Time} value=${deadline} />` },
  { name: "requestId", title: "request", render: ({ requestId }) => html`<code>${requestId ?? ""}</code>` },
];
