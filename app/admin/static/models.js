// The section of models: their schemas, relations, rules, and how many rows they have.

import { call } from "../../ostiary/static/api.js";
import { hintOf } from "../../ostiary/static/kinds.js";
import { Card, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Curl, Facts, Json, View } from "./parts.js";
import { propertiesOf } from "./properties.js";
import { Table } from "./table.js";

/** The view in the URL: all models, or one. */
export default function Models({ segments: [name] }) {
  const { models, model } = useAdmin();
  if (!name) {
    return html`<${View} title="Models">
      <${Table} label="models" columns=${COLUMNS} rows=${models} idOf=${(each) => each.name} linkOf=${(each) => ["models", each.name]} />
      <${Curl} path="/admin/models" />
    <//>`;
  }
  const found = model(name);
  return found ? html`<${Model} model=${found} />` : html`<${View} title="Nothing here"><p>There is no model ${name}.</p><//>`;
}

function Model({ model }) {
  const { mayAdmin, may } = useAdmin();
  const path = `/admin/models/${encodeURIComponent(model.name)}`;
  const counted = useCall(async () => (mayAdmin("findModelById") ? (await call("GET", path)).body.rows : undefined), [path]);
  const list = may(model.name, "find") && html`<a class="button" href=${hrefOf(model.name === "users" ? ["users"] : ["rows", model.name])}>Rows</a>`;
  const facts = [
    ["rows", counted.value?.toLocaleString() ?? (counted.isLoading ? "…" : undefined)],
    ["path", html`<code>${model.path}</code>`],
    ["one", model.singular],
    ["owner", model.owner ?? undefined],
  ];
  return html`<${View} title=${model.name} back=${{ href: hrefOf(["models"]), title: "Models" }} actions=${list}>
    <section class="card"><${Facts} facts=${facts} /></section>
    <${Card} title="Properties"><${Table} label="properties" columns=${PROPERTIES} rows=${propertiesOf(model)} idOf=${({ name }) => name} /><//>
    ${model.relations.length > 0 && html`<${Card} title="Relations"><${Table} label="relations" columns=${RELATIONS} rows=${model.relations} idOf=${({ name }) => name} /><//>`}
    <${Card} title="Rules">
      ${model.rules.length ? html`<${Table} label="rules" columns=${RULES} rows=${model.rules.map((rule, id) => ({ ...rule, id }))} idOf=${({ id }) => id} />` : html`<p class="muted">No rule allows anything.</p>`}
    <//>
    <details class="curl"><summary>JSON schema</summary><${Json} value=${model.schema} /></details>
    <${Curl} path=${path} />
  <//>`;
}

const COLUMNS = [
  { name: "name", title: "name", render: ({ name }) => html`<a class="open" href=${hrefOf(["models", name])}>${name}</a>` },
  { name: "path", title: "path", render: ({ path }) => html`<code>${path}</code>` },
  { name: "properties", title: "properties", render: ({ schema }) => Object.keys(schema?.properties ?? {}).length },
  { name: "relations", title: "relations", render: ({ relations }) => relations.map(({ name }) => name).join(", ") },
];

const PROPERTIES = [
  { name: "name", title: "name", render: ({ name }) => html`<strong>${name}</strong>` },
  { name: "kind", title: "type", render: ({ schema }) => typeOf(schema) },
  { name: "null", title: "null", render: ({ isNullable }) => (isNullable ? "yes" : "no") },
  { name: "written", title: "written by clients", render: ({ isWritable, isRequired }) => (isRequired ? "required" : isWritable ? "yes" : "no") },
  { name: "hint", title: "bounds", render: (property) => hintOf(property) },
];

function typeOf({ enum: options, type, format }) {
  const names = [type ?? "any"].flat().filter((name) => name !== "null");
  return options ? options.filter((each) => each !== null).join(", ") : [names.join(" or "), format].filter(Boolean).join(", ");
}

const RELATIONS = [
  { name: "name", title: "name", render: ({ name }) => html`<strong>${name}</strong>` },
  { name: "type", title: "type", render: ({ type }) => type },
  { name: "model", title: "model", render: ({ model }) => (model ? html`<a href=${hrefOf(["models", model])}>${model}</a>` : "") },
  { name: "foreignKey", title: "foreign key", render: ({ foreignKey }) => html`<code>${foreignKey}</code>` },
];

const RULES = [
  { name: "principalId", title: "who", render: ({ principalType, principalId }) => `${principalType === "ROLE" ? "" : `${principalType} `}${principalId}` },
  { name: "permission", title: "permission", render: ({ permission }) => html`<span class="badge ${permission === "ALLOW" ? "good" : "bad"}">${permission}</span>` },
  { name: "accessType", title: "access", render: ({ accessType }) => accessType ?? "*" },
  { name: "property", title: "methods", render: ({ property }) => [property ?? "*"].flat().join(", ") },
];
