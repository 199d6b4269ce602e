// The list of the rows of a model, or of a relation.

import { html, useState } from "../../ostiary/static/view.js";
import { inWords } from "../../ostiary/static/words.js";
import { RowLink, useAdmin, viewOfRow } from "./access.js";
import { hrefOf } from "./address.js";
import { BulkActions } from "./bulk.js";
import { Value } from "./cells.js";
import { List } from "./list.js";
import { View } from "./parts.js";
import { isOrderable, labelsOf, propertiesOf } from "./properties.js";
import { inSentence, pluralOf, titleOf } from "./titles.js";

// As many as fit beside each other.
const MAX_COLUMNS = 6;

/** The rows of a model. */
export function RowList({ model, query }) {
  const { may } = useAdmin();
  const canCreate = may(model.name, "create") && model.createSchema;
  const create = canCreate && html`<a class="button strong" href=${hrefOf(["rows", model.name, "new"])}>New ${inSentence(model)}</a>`;
  return html`<${View} title=${pluralOf(model)} actions=${create}>
    <${Rows} model=${model} path=${model.path} segments=${["rows", model.name]} query=${query} isChosen=${true}>
      <p>${pluralOf(model)} has no rows yet.${canCreate ? " Create the first one." : ""}</p>
      ${create}
    <//>
  <//>`;
}

/** The rows to which a relation of a row leads. */
export function RelatedRows({ model, id, relation, query }) {
  const { model: modelOf } = useAdmin();
  const found = model.relations.find(({ name }) => name === relation);
  const target = modelOf(found?.model);
  const back = { href: hrefOf(["rows", model.name, id]), title: titleOf(model, id) };
  if (!target) {
    return html`<${View} title="Nothing here" back=${back}><p>There is no relation ${relation} to rows that you may see.</p><//>`;
  }
  const path = `${model.path}/${encodeURIComponent(id)}/${relation}`;
  return html`<${View} title=${`${inWords(relation)} of ${inSentence(model)} ${id}`} back=${back}>
    <${Rows} model=${target} path=${path} segments=${["rows", model.name, id, relation]} query=${query}>
      <p>The ${inSentence(model)} has no ${relation}.</p>
    <//>
  <//>`;
}

function Rows({ model, path, segments, query, isChosen, children }) {
  const admin = useAdmin();
  const [version, setVersion] = useState(0);
  const properties = propertiesOf(model);
  const bulk = (rows) => html`<${BulkActions} ...${{ model, properties, rows }} onDone=${() => setVersion(version + 1)} />`;
  const mayChange = admin.may(model.name, "deleteById") || admin.may(model.name, "updateAll");
  return html`<${List}
    label=${pluralOf(model)}
    model=${model}
    path=${path}
    segments=${segments}
    query=${query}
    properties=${properties}
    related=${relatedProperties(model, admin)}
    columns=${columnsOf(model, properties, admin)}
    idName=${model.idName}
    linkOf=${(row) => viewOfRow(admin, model, row[model.idName])}
    selection=${(columns) => selectionOf(model, properties, columns, admin)}
    version=${version}
    bulk=${isChosen && mayChange ? bulk : undefined}
    empty=${children}
  />`;
}

/** Return the filter's parts for the shown columns, and for the properties that identify rows. */
function selectionOf(model, properties, columns, admin) {
  const names = new Set([model.idName, ...columns.map(({ name }) => name)]);
  const references = properties.filter(({ name, target }) => names.has(name) && canRead(target, admin));
  const include = references.map(({ relation, target }) => ({ relation, scope: { fields: knownBy(admin.model(target)) } }));
  return { fields: [...names], include: include.length ? include : undefined };
}

/** Return the properties, for filters, of the rows that relations to one lead to. */
function relatedProperties(model, admin) {
  const followed = model.relations.filter(({ many, model: target }) => !many && canRead(target, admin));
  return followed.flatMap(({ name: relation, model: target, filterable }) =>
    propertiesOf(admin.model(target))
      .filter(({ name }) => filterable.includes(name))
      .map((property) => ({
        ...property,
        name: `${relation}.${property.name}`,
        path: [relation, property.name],
      })),
  );
}

function canRead(name, { may, model }) {
  return name && model(name) && may(name, "find");
}

function knownBy(model) {
  return [model.idName, ...labelsOf(model)];
}

function columnsOf(model, properties, admin) {
  const readable = properties.filter(({ isReadable }) => isReadable);
  const first = readable.filter(({ kind, name }) => !["json", "file", "longText"].includes(kind) && name !== model.idName);
  const long = readable.filter(({ kind }) => kind === "longText");
  const shown = [...first, ...long].slice(0, MAX_COLUMNS - 1).map(({ name }) => name);
  return readable.map((property) => ({
    name: property.name,
    title: property.name,
    isShown: property.name === model.idName || shown.includes(property.name),
    isOrderable: isOrderable(property),
    isShort: ["time", "date", "integer", "number", "decimal", "boolean"].includes(property.kind),
    render: (row) => cell(model, property, row, admin),
  }));
}

function cell(model, property, row, admin) {
  const value = row[property.name];
  if (property.name === model.idName) {
    return html`<${RowLink} model=${model} id=${value} class="open">${value}<//>`;
  }
  const target = property.target && admin.model(property.target);
  if (target && value !== null && value !== undefined) {
    const label = row[property.relation]?.[labelsOf(target)[0]];
    return html`${label ?? ""} <span class="muted">${value}</span>`;
  }
  return html`<${Value} property=${property} value=${value} />`;
}
