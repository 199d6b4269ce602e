// Rows related to a row: links to other rows, and to lists of them with their number.

import { call } from "../../ostiary/static/api.js";
import { Card, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { RowLink, useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { titleOf } from "./titles.js";

const LISTED = ["hasMany", "hasManyThrough"];

/** The relations of a row that the caller may follow. */
export function Related({ model, id, row }) {
  const { may, model: modelOf } = useAdmin();
  const followed = model.relations.filter(
    ({ name, model: target }) => modelOf(target) && may(model.name, `__get__${name}`),
  );
  const many = followed.filter(({ type }) => LISTED.includes(type));
  const ones = followed.filter(({ type }) => type === "hasOne" || type === "belongsTo");
  if (!followed.length) {
    return null;
  }
  return html`<${Card} title="Related">
    <ul class="related">
      ${many.map(({ name }) => html`<${Many} key=${name} ...${{ model, id, name }} isCounted=${may(model.name, `__count__${name}`)} />`)}
      ${ones.map((relation) => html`<${One} key=${relation.name} ...${{ model, id, row, relation }} target=${modelOf(relation.model)} />`)}
    </ul>
  <//>`;
}

function Many({ model, id, name, isCounted }) {
  const path = `${model.path}/${encodeURIComponent(id)}/${name}/count`;
  const counted = useCall(async () => isCounted && (await call("GET", path)).body.count, [path]);
  const number = typeof counted.value === "number" && html` <span class="badge">${counted.value.toLocaleString()}</span>`;
  return html`<li><a href=${hrefOf(["rows", model.name, id, name])}>${name}</a>${number}</li>`;
}

function One({ model, id, row, relation: { name, type, foreignKey }, target }) {
  const path = `${model.path}/${encodeURIComponent(id)}/${name}`;
  const isKeyHere = type === "belongsTo";
  const hasRow = !isKeyHere || (row[foreignKey] ?? null) !== null;
  const found = useCall(async () => (hasRow ? (await call("GET", path)).body : null), [path, row[foreignKey]]);
  const key = isKeyHere ? row[foreignKey] : found.value?.[target.idName];
  if (key === null || key === undefined) {
    return html`<li>${name} <span class="muted">${found.isLoading ? "…" : "none"}</span></li>`;
  }
  return html`<li><${RowLink} model=${target} id=${key}>${name}<//> <span class="muted">${titleOf(target, key, found.value)}</span></li>`;
}
