// The section of files: the containers of each store, and the files of one.

import { call } from "../../ostiary/static/api.js";
import { Card, Field, Form, Loaded, notify, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { storesOf, useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Container } from "./container.js";
import { Curl, View } from "./parts.js";
import { Table } from "./table.js";

/** The view in the URL: the containers of all stores, or the files of one container. */
export default function Files({ segments: [store, container], query }) {
  const { access, may } = useAdmin();
  const paths = useCall(readPaths, []);
  return html`<${Loaded} of=${paths}>
    ${(found) =>
      container
        ? html`<${Container} ...${{ store, container, query, path: found[store] }} />`
        : html`<${View} title="Files">
            ${storesOf({ access, may }).map((name) => html`<${Store} key=${name} name=${name} path=${found[name]} query=${query} />`)}
          <//>`}
  <//>`;
}

/** Return the paths of the stores by the names of their models, from the OpenAPI document. */
async function readPaths() {
  const { paths } = (await call("GET", "/openapi.json")).body;
  const lists = Object.entries(paths).filter(([, { get }]) => get?.operationId.endsWith(".getContainers"));
  return Object.fromEntries(lists.map(([path, { get }]) => [get.operationId.split(".")[0], path]));
}

function Store({ name, path, query }) {
  const { may } = useAdmin();
  const containers = useCall(async () => (await call("GET", path, { query: { after: query.after } })).body, [path, query.after]);
  const create = async (values) => {
    await call("POST", path, { body: values });
    notify(`Created ${values.name}.`);
    containers.reload();
  };
  const link = (row) => html`<a class="open" href=${hrefOf(["files", name, row.name])}>${row.name}</a>`;
  return html`<${Card} title=${name}>
    <${Loaded} of=${containers}>
      ${(rows) =>
        rows.length
          ? html`<${Table} label=${`containers of ${name}`} columns=${[{ name: "name", title: "container", render: link }]} rows=${rows} idOf=${(row) => row.name} linkOf=${(row) => ["files", name, row.name]} />`
          : html`<div class="empty"><p>There is no container yet. Files are in containers.</p></div>`}
    <//>
    ${may(name, "createContainer") &&
    html`<${Form} label=${`New container of ${name}`} submit="Create" onSubmit=${create} fields=${["name"]} isEmptied=${true}>
      ${(problem) => html`<${Field} label="New container" name="name" required maxlength="255" autocomplete="off" problem=${problem} />`}
    <//>`}
    <${Curl} path=${path} />
  <//>`;
}
