// Records of the audit log as a list.

import { Time } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { RowLink, USERS, useAdmin } from "./access.js";
import { List } from "./list.js";
import { useEmail } from "./names.js";

const text = (name, nullable = true) => ({ name, kind: "text", schema: { type: "string" }, isNullable: nullable, isReadable: true });

/** The records returned by a call. */
export function AuditList({ path, segments, query, version }) {
  const { access, model } = useAdmin();
  const idSchema = model("users")?.schema.properties.id ?? { type: typeof access.userId === "number" ? "integer" : "string" };
  const user = (name) => ({ name, kind: idSchema.type === "integer" ? "integer" : "text", schema: idSchema, isNullable: true, isReadable: true });
  const properties = [
    { name: "id", kind: "integer", schema: { type: "integer" }, isReadable: true },
    text("action", false),
    { name: "time", kind: "time", schema: {}, isReadable: true },
    user("userId"),
    user("actorId"),
    text("address"),
    text("requestId"),
  ];
  return html`<${List}
    label="audit"
    path=${path}
    segments=${segments}
    query=${query}
    properties=${properties}
    columns=${COLUMNS}
    version=${version}
    empty=${html`<p>Nothing is recorded. What is, and for how long, says the setting AUDIT_DAYS.</p>`}
  />`;
}

/** A user as a link to it. */
function Who({ id, none = "nobody" }) {
  const { access } = useAdmin();
  const email = useEmail(id);
  if (id === null || id === undefined) {
    return html`<span class="muted">${none}</span>`;
  }
  return html`<${RowLink} model=${USERS} id=${id}>${email ?? `user ${id}`}${id === access.userId && " (you)"}<//>`;
}

/** The acting user; without a request it was a command. */
function Actor({ actorId, userId, requestId }) {
  if (actorId !== null && actorId === userId) {
    return html`<span class="muted">the user</span>`;
  }
  return html`<${Who} id=${actorId} none=${requestId ? "not logged in" : "a command"} />`;
}

const COLUMNS = [
  { name: "time", title: "time", isShort: true, isShown: true, isOrderable: true, render: ({ time }) => html`<${Time} value=${time} hasSeconds=${true} />` },
  { name: "action", title: "action", isShort: true, isShown: true, isOrderable: true, render: ({ action }) => html`<strong>${action}</strong>` },
  { name: "userId", title: "user", isShown: true, isOrderable: true, render: ({ userId }) => html`<${Who} id=${userId} />` },
  { name: "actorId", title: "by", isShown: true, isOrderable: true, render: (record) => html`<${Actor} ...${record} />` },
  { name: "address", title: "address", isShort: true, isShown: true, isOrderable: true, render: ({ address }) => address ?? "" },
  { name: "details", title: "details", isShown: true, render: ({ details }) => html`<${Details} details=${details} />` },
  { name: "requestId", title: "request", isOrderable: true, render: ({ requestId }) => html`<code>${requestId ?? ""}</code>` },
  { name: "id", title: "id", isShort: true, isOrderable: true, render: ({ id }) => id },
];

function Details({ details }) {
  return Object.entries(details ?? {}).map(
    ([name, value]) => html`<span class="detail" key=${name}><span class="muted">${name}</span> ${textOf(value)}</span> `,
  );
}

function textOf(value) {
  if (Array.isArray(value)) {
    return value.map(textOf).join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
