// The section of webhooks: all of them, and one with its deliveries.

import { call } from "../../ostiary/static/api.js";
import { Action, Card, CopyButton, Dialog, Field, Form, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { go, hrefOf } from "./address.js";
import { Confirmed, Curl, Facts, View } from "./parts.js";
import { Table } from "./table.js";

const PATH = "/admin/webhooks";

/** The view in the URL: all webhooks, or one. */
export default function Webhooks({ segments: [id] }) {
  return id ? html`<${Webhook} key=${id} id=${id} />` : html`<${AllWebhooks} />`;
}

function AllWebhooks() {
  const { mayAdmin } = useAdmin();
  const [secret, show] = useState("");
  const webhooks = useCall(async () => (await call("GET", PATH)).body, []);
  const create = async ({ url, models, events }) => {
    const body = { url, models: wordsOf(models), events: wordsOf(events) };
    show((await call("POST", PATH, { body })).body.secret);
    webhooks.reload();
  };
  return html`<${View} title="Webhooks">
    <${Loaded} of=${webhooks}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label="webhooks" columns=${COLUMNS} rows=${rows} idOf=${({ id }) => id} linkOf=${({ id }) => ["webhooks", id]} />`
          : html`<div class="empty"><p>There is no webhook yet. One tells another system what has changed.</p></div>`}
    <//>
    ${mayAdmin("createWebhook") &&
    html`<${Card} title="New webhook">
      <${Form} label="New webhook" submit="Create" onSubmit=${create} fields=${["url", "models", "events"]} isEmptied=${true}>
        ${(problem) => html`
          <${Field} label="Address" name="url" type="url" required maxlength="2000" autocomplete="off" hint="It must begin with https://." problem=${problem} />
          <${Field} label="Models" name="models" autocomplete="off" hint="Those whose changes are sent, separated by commas." problem=${problem} />
          <${Field} label="Events" name="events" autocomplete="off" hint="Events of users, such as users.created, separated by commas." problem=${problem} />
        `}
      <//>
    <//>`}
    ${secret && html`<${Secret} secret=${secret} onClose=${() => show("")} />`}
    <${Curl} path=${PATH} />
  <//>`;
}

function Webhook({ id }) {
  const { mayAdmin } = useAdmin();
  const [secret, show] = useState("");
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const webhook = useCall(async () => (await call("GET", path)).body, [id]);
  const deliveries = useCall(async () => (await call("GET", `${path}/deliveries`)).body, [id]);
  const act = (name, text) => async () => {
    await call("POST", `${path}/${name}`);
    notify(text);
    webhook.reload();
    deliveries.reload();
  };
  const rotate = async () => show((await call("POST", `${path}/rotate`)).body.secret);
  const remove = async () => {
    await call("DELETE", path);
    notify("Deleted the webhook.");
    go(["webhooks"]);
  };
  const enabled = webhook.value?.enabled;
  const actions = html`
    <${Action} onClick=${deliveries.reload}>Refresh<//>
    ${enabled && mayAdmin("testWebhook") && html`<${Action} onClick=${act("test", "A test is sent.")}>Test<//>`}
    ${enabled && mayAdmin("disableWebhook") && html`<${Action} onClick=${act("disable", "Disabled.")}>Disable<//>`}
    ${enabled === false && mayAdmin("enableWebhook") && html`<${Action} onClick=${act("enable", "Enabled.")}>Enable<//>`}
    ${mayAdmin("rotateWebhook") && html`<${Confirmed} title="Make a new secret?" text="The old one is valid for another 24 hours." label="Rotate" look="strong" onConfirm=${rotate} />`}
    ${mayAdmin("deleteWebhook") && html`<${Confirmed} title="Delete this webhook?" text="Nothing is sent to it any more, and its deliveries are deleted." label="Delete" onConfirm=${remove} />`}
  `;
  const resend = ({ id: delivery, type, state }) =>
    state !== "pending" && type !== "resetPasswordRequest" && mayAdmin("resendWebhookDelivery") &&
    html`<${Action} aria-label=${`Send ${delivery} again`} onClick=${act(`deliveries/${delivery}/resend`, "It is sent again.")}>Send again<//>`;
  const columns = [...DELIVERY_COLUMNS, { name: "actions", title: "actions", render: resend }];
  return html`<${View} title=${`Webhook ${id}`} back=${{ href: hrefOf(["webhooks"]), title: "Webhooks" }} actions=${actions}>
    <${Loaded} of=${webhook}>${(value) => html`<section class="card"><${Facts} facts=${factsOf(value)} /></section>`}<//>
    ${mayAdmin("findWebhookDeliveries") &&
    html`<${Loaded} of=${deliveries}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label="deliveries" columns=${columns} rows=${rows} idOf=${(row) => row.id} />`
          : html`<div class="empty"><p>Nothing has been sent yet.</p></div>`}
    <//>`}
    ${secret && html`<${Secret} secret=${secret} onClose=${() => show("")} />`}
    <${Curl} path=${`${path}/deliveries`} />
  <//>`;
}

/** The secret of a webhook, which is shown once. */
function Secret({ secret, onClose }) {
  return html`<${Dialog} title="The secret of the webhook" onClose=${onClose}>
    <p>The receiver verifies signatures with it. It is not shown again.</p>
    <p><code>${secret}</code></p>
    <div class="buttons"><${CopyButton} text=${secret} /><button type="button" onClick=${onClose}>Close</button></div>
  <//>`;
}

function wordsOf(text) {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}

function factsOf({ url, models, kinds, events, where, ordered, enabled, failures, failingSince }) {
  return [
    ["address", html`<code>${url}</code>`],
    ["models", models.join(", ")],
    ["kinds", kinds.join(", ")],
    ["where", html`<code>${JSON.stringify(where)}</code>`],
    ["events", events.join(", ")],
    ["order of rows", ordered ? "kept" : "not kept"],
    ["state", enabled ? "enabled" : "disabled"],
    ["failures", failures],
    ["failing since", html`<${Time} value=${failingSince} />`],
  ];
}

const LOOKS = { delivered: "good", failed: "bad" };
const COLUMNS = [
  { name: "url", title: "address", render: ({ id, url }) => html`<a class="open" href=${hrefOf(["webhooks", id])}>${url}</a>` },
  { name: "models", title: "models", render: ({ models }) => models.join(", ") },
  { name: "events", title: "events", render: ({ events }) => events.join(", ") },
  { name: "enabled", title: "state", isShort: true, render: ({ enabled }) => html`<span class="badge ${enabled ? "good" : "bad"}">${enabled ? "enabled" : "disabled"}</span>` },
  { name: "failures", title: "failures", isShort: true, render: ({ failures }) => failures },
];
const DELIVERY_COLUMNS = [
  { name: "id", title: "id", isShort: true, render: ({ id }) => id },
  { name: "type", title: "type", render: ({ type }) => type },
  { name: "state", title: "state", isShort: true, render: ({ state }) => html`<span class="badge ${LOOKS[state] ?? ""}">${state}</span>` },
  { name: "attempts", title: "attempts", isShort: true, render: ({ attempts }) => attempts },
  { name: "created", title: "created", isShort: true, render: ({ created }) => html`<${Time} value=${created} />` },
  { name: "status", title: "status", isShort: true, render: ({ status }) => status ?? "" },
  { name: "answer", title: "answer", render: ({ answer, lastError }) => answer ?? lastError ?? "" },
];
