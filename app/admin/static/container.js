// The files of one container: listed page by page, uploaded, downloaded and deleted.

import { call } from "../../ostiary/static/api.js";
import { Action, Card, Field, Form, Loaded, notify, save, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { go, hrefOf } from "./address.js";
import { Confirmed, Curl, View } from "./parts.js";
import { Table } from "./table.js";

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** The files of a container of a store, whose model has this path. */
export function Container({ store, container, query, path }) {
  const { may } = useAdmin();
  const own = `${path}/${encodeURIComponent(container)}`;
  const files = useCall(async () => readPage(`${own}/files`, query.after), [own, query.after]);
  const upload = async (_, form) => {
    await call("POST", `${own}/upload`, { body: new FormData(form) });
    notify("Uploaded.");
    files.reload();
  };
  const remove = (name) => async () => {
    await call("DELETE", `${own}/files/${encodeURIComponent(name)}`);
    notify(`Deleted ${name}.`);
    files.reload();
  };
  const download = (name) => async () =>
    save(name, (await call("GET", `${own}/download/${encodeURIComponent(name)}`, { isFile: true })).body);
  const destroy = async () => {
    await call("DELETE", own);
    notify(`Deleted ${container}.`);
    go(["files"]);
  };
  const actions = ({ name }) => html`<div class="buttons">
    ${may(store, "download") && html`<${Action} aria-label=${`Download ${name}`} onClick=${download(name)}>Download<//>`}
    ${may(store, "removeFile") && html`<${Confirmed} title=${`Delete ${name}?`} label="Delete" onConfirm=${remove(name)} />`}
  </div>`;
  const columns = [...COLUMNS, { name: "actions", title: "actions", render: actions }];
  const end =
    may(store, "destroyContainer") &&
    html`<${Confirmed} title=${`Delete the container ${container}?`} text="All of its files are deleted with it." label="Delete" onConfirm=${destroy} />`;
  return html`<${View} title=${container} back=${{ href: hrefOf(["files"]), title: "Files" }} actions=${end}>
    <${Loaded} of=${files}>
      ${({ rows, after }) => html`
        ${rows.length
          ? html`<${Table} label="files" columns=${columns} rows=${rows} idOf=${({ name }) => name} />`
          : html`<div class="empty"><p>There is no file yet.</p></div>`}
        ${after && html`<p><a href=${hrefOf(["files", store, container], { after })}>More files</a></p>`}
      `}
    <//>
    ${may(store, "upload") &&
    html`<${Card} title="Upload">
      <${Form} label="Upload" submit="Upload" onSubmit=${upload} isEmptied=${true}>
        ${() => html`<${Field} label="Files" name="file" type="file" multiple required hint="A file takes the place of one of the same name, unless the store gives it another." />`}
      <//>
    <//>`}
    <${Curl} path=${`${own}/files`} query=${{ after: query.after }} />
  <//>`;
}

/** Return files, and the name after which there are more. */
async function readPage(path, after) {
  const { body, headers } = await call("GET", path, { query: { after } });
  const next = /<([^>]*)>/.exec(headers.get("Link") ?? "");
  return { rows: body, after: next && new URL(next[1], location.href).searchParams.get("after") };
}

/** Return a number of bytes in the largest suitable unit. */
function sizeOf(bytes) {
  const unit = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  return `${Number((bytes / 1000 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}

const COLUMNS = [
  { name: "name", title: "name", render: ({ name }) => name },
  { name: "size", title: "size", render: ({ size }) => sizeOf(size) },
];
